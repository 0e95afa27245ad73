"""Read our records and a run's scalars from TensorBoard's data provider, with any of its loaders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorboard.context import RequestContext
from tensorboard.data.provider import DataProvider, RunTagFilter

from tb_gradgraph.record import PLUGIN_NAME
from tb_gradgraph.serve.runs.hyperparameters import HyperValue, parse_hparams

#: How many tags to read at once: a chunk is about 1 MiB, and an answer of the data server at most 256 MiB.
_GROUP = 32
_ALL = 2**31 - 1
_SCALARS = "scalars"  # the plugin of the Time Series and Scalars dashboards
_HPARAMS = "hparams"
_SESSION = "_hparams_/session_start_info"  # the tag of the hyperparameters of a run
_EXPERIMENT = ""  # a local TensorBoard has only this one


class RecordSource:
    """Lists and reads records, without caching."""

    def __init__(self, provider: DataProvider) -> None:
        self._provider = provider

    def list_tags(self) -> dict[str, list[str]]:
        """List the tags of every run that has records of ours."""
        runs = self._provider.list_tensors(
            RequestContext(), experiment_id=_EXPERIMENT, plugin_name=PLUGIN_NAME
        )
        return {run: list(tags) for run, tags in runs.items()}

    def read(self, run: str, tags: Sequence[str]) -> Iterator[tuple[str, tuple[bytes, ...]]]:
        """Yield tag and strings of each record that exists; no strings if it is not a list of bytes."""
        for start in range(0, len(tags), _GROUP):
            group = tags[start : start + _GROUP]
            try:
                found = dict(self._read_group(run, group))  # in any order
                yield from [(tag, found[tag]) for tag in group if tag in found]
            except Exception:  # they are too large together, or one of them cannot be converted
                for tag in group:
                    yield tag, self._read_alone(run, tag)

    def list_scalar_tags(self, run: str) -> list[str]:
        """List the tags of a run's scalars, sorted."""
        found = self._provider.list_scalars(
            RequestContext(),
            experiment_id=_EXPERIMENT,
            plugin_name=_SCALARS,
            run_tag_filter=RunTagFilter(runs=[run]),
        )
        return sorted(found.get(run, {}))

    def read_scalar(self, run: str, tag: str, most: int) -> list[tuple[int, float]]:
        """Read steps and values of a scalar, at most ``most`` of them; none if there are none."""
        found = self._provider.read_scalars(
            RequestContext(),
            experiment_id=_EXPERIMENT,
            plugin_name=_SCALARS,
            downsample=most,
            run_tag_filter=RunTagFilter(runs=[run], tags=[tag]),
        )
        return [(point.step, float(point.value)) for point in found.get(run, {}).get(tag, ())]

    def list_hparams(self) -> dict[str, dict[str, HyperValue]]:
        """List the hyperparameters that TensorBoard's hparams plugin has, by run."""
        found = self._provider.list_tensors(
            RequestContext(), experiment_id=_EXPERIMENT, plugin_name=_HPARAMS
        )
        return {
            run: parse_hparams(tags[_SESSION].plugin_content)
            for run, tags in found.items()
            if _SESSION in tags
        }

    def _read_alone(self, run: str, tag: str) -> tuple[bytes, ...]:
        try:
            return next(iter(self._read_group(run, [tag])))[1]
        except Exception:
            return ()

    def _read_group(self, run: str, tags: Sequence[str]) -> Iterator[tuple[str, tuple[bytes, ...]]]:
        answer = self._provider.read_tensors(
            RequestContext(),
            experiment_id=_EXPERIMENT,
            plugin_name=PLUGIN_NAME,
            downsample=_ALL,
            run_tag_filter=RunTagFilter(runs=[run], tags=list(tags)),
        )
        for tag, series in answer.get(run, {}).items():
            if series:
                array = series[-1].numpy
                yield tag, tuple(array.tolist()) if array.ndim == 1 and len(array) == 2 else ()
