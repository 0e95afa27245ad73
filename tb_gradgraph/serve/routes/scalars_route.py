"""Answer with what runs log for TensorBoard's own dashboards: scalars, and hyperparameters."""

from __future__ import annotations

import numpy as np

from tb_gradgraph.serve.request.answer import BINARY, JSON, Answer
from tb_gradgraph.serve.request.find import find_run
from tb_gradgraph.serve.request.frames import encode_frame, to_json
from tb_gradgraph.serve.request.parameters import Parameters, not_found
from tb_gradgraph.serve.runs.hyperparameters import assign_hparams
from tb_gradgraph.serve.runs.reader import Reader

#: How many points one answer may have. TensorBoard itself keeps 1,000 per tag by default.
MAX_POINTS = 20_000


def answer_scalars(reader: Reader, parameters: Parameters) -> Answer:
    """List the tags of all scalars of a run."""
    run = find_run(reader, parameters)
    return Answer(to_json({"tags": reader.source.list_scalar_tags(run.stored_name)}).encode(), JSON)


def answer_scalar(reader: Reader, parameters: Parameters) -> Answer:
    """Return one scalar over the steps."""
    run, tag = find_run(reader, parameters), parameters.text("tag")
    try:
        points = reader.source.read_scalar(run.stored_name, tag, MAX_POINTS)
    except Exception as error:  # TensorBoard's error about data of another tool
        text = f"Expected a scalar that TensorBoard can read, got {tag[:200]!r}: {error}"
        raise not_found(text[:1000]) from None
    if not points:
        raise not_found(f"Expected a scalar of run {run.name[:200]!r}, got {tag[:200]!r}.")
    points = sorted(points)
    header = {"run": run.name, "tag": tag, "steps": [step for step, _ in points]}
    values = np.array([value for _, value in points])
    return Answer(encode_frame(header, {"values": values}, wide=True), BINARY)


def answer_hparams(reader: Reader, parameters: Parameters) -> Answer:
    """Return TensorBoard's hyperparameters of each run that has any."""
    runs = {run.name: run.stored_name for run in reader.runs().values()}
    found = assign_hparams(runs.values(), reader.source.list_hparams())
    of_runs = {name: found[stored] for name, stored in runs.items() if stored in found}
    return Answer(to_json({"runs": of_runs}).encode(), JSON)
