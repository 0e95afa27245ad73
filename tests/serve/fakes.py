"""A data provider made by hand."""

from __future__ import annotations

import numpy as np
from tensorboard.data import provider

SESSION = "gradgraph/0123456789abcdef0123"


class FakeProvider:
    """Holds records by run and tag; counts what it is asked."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, object]] = {}
        self.lists = 0
        self.reads: list[int] = []
        self.most_together = 10**9

    def put(self, run: str, tag: str, strings: object) -> None:
        self.runs.setdefault(run, {})[f"{SESSION}/{tag}"] = strings

    def list_tensors(self, ctx, *, experiment_id, plugin_name, run_tag_filter=None):
        assert experiment_id == ""
        if plugin_name == "hparams":
            return {}
        assert plugin_name == "gradgraph"
        self.lists += 1
        return {run: dict.fromkeys(tags) for run, tags in self.runs.items()}

    def read_tensors(self, ctx, *, experiment_id, plugin_name, downsample, run_tag_filter):
        (run,) = run_tag_filter.runs
        tags = [tag for tag in run_tag_filter.tags if tag in self.runs[run]]
        self.reads.append(len(tags))
        if len(tags) > self.most_together:
            raise RuntimeError("larger than max")
        return {run: {tag: [self._datum(self.runs[run][tag])] for tag in tags}}

    def _datum(self, strings: object) -> provider.TensorDatum:
        if isinstance(strings, Exception):
            raise strings
        array = strings if isinstance(strings, np.ndarray) else np.array(strings, object)
        return provider.TensorDatum(0, 0.0, array)
