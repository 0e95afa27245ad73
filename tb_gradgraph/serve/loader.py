"""TensorBoard imports this when it starts. It does little, because an error here would stop TensorBoard."""

from __future__ import annotations

import logging
import sys
from typing import Any

from tensorboard.plugins import base_plugin

_logger = logging.getLogger(__name__)


class GradGraphLoader(base_plugin.TBLoader):
    """Loads the plugin. If that fails, it logs the reason and TensorBoard keeps running."""

    def fix_flags(self, flags: Any) -> None:
        """Make TensorBoard keep all our records, unless the user has set the flag.

        TensorBoard's default would not drop any either, because each record has its own tag.
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
    if getattr(package, "__file__", None) is None:  # a folder with our name, such as a clone
        folder = next(iter(getattr(package, "__path__", [])), "tb_gradgraph")
        return f"The folder {folder} hides the package: start TensorBoard from another folder."
    return "`tb-gradgraph doctor` may know why."
