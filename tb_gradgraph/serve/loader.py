"""What TensorBoard imports at start-up: as little as possible, because an error here would stop it."""

from __future__ import annotations

import logging
import sys
from typing import Any

from tensorboard.plugins import base_plugin

_logger = logging.getLogger(__name__)


class GradGraphLoader(base_plugin.TBLoader):
    """Loads the plugin, or says why it cannot and leaves TensorBoard running."""

    def fix_flags(self, flags: Any) -> None:
        """Make TensorBoard keep all of our records, unless the user's own flag says otherwise.

        Each record has its own tag, so the default would drop none either.
        """
        samples = getattr(flags, "samples_per_plugin", None)
        if isinstance(samples, dict):
            samples.setdefault("gradgraph", 0)

    def load(self, context: base_plugin.TBContext) -> base_plugin.TBPlugin | None:
        """Return the plugin; ``None``, with the reason in the log, if it cannot be imported."""
        try:
            from tb_gradgraph.serve.plugin import GradGraphPlugin

            return GradGraphPlugin(context)
        except Exception as error:
            _logger.warning(
                "tb_gradgraph: the Grad Graph tab is missing because its plugin does not load here: "
                "%s: %s. %s",
                type(error).__name__,
                error,
                _cure(),
            )
            return None


def _cure() -> str:
    package = sys.modules[__name__.partition(".")[0]]
    if getattr(package, "__file__", None) is None:  # a folder of that name, such as a clone's
        folder = next(iter(getattr(package, "__path__", [])), "tb_gradgraph")
        return f"The folder {folder} hides the package: start TensorBoard from another folder."
    return "`tb-gradgraph doctor` may know why."
