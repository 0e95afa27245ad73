"""Answer in a binary frame: one record."""

from __future__ import annotations

import numpy as np

from tb_gradgraph.graph import FACTS
from tb_gradgraph.serve.evidence.optimizer_steps import rows_without_optimizer
from tb_gradgraph.serve.evidence.whole import list_whole
from tb_gradgraph.serve.request.answer import BINARY, Answer
from tb_gradgraph.serve.request.find import (
    find_entry,
    own_names,
)
from tb_gradgraph.serve.request.frames import encode_frame
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import STATISTICS


def answer_step(reader: Reader, parameters: Parameters) -> Answer:
    """Return all statistics of one record."""
    run, entry = find_entry(reader, parameters)
    listed = own_names(run, entry.tag, entry.rows)
    names = (*STATISTICS, *(name for name in listed if name in entry.own))
    columns = [reader.statistic(run, entry, name) for name in names]
    present = reader.present(run, entry)
    whole, left_out = list_whole(reader, run, [entry])
    header = {
        "run": run.name,
        "tag": entry.tag,
        "hash": entry.graph_hash,
        "step": entry.step,
        "backward_pass": entry.backward_pass,
        "wall_time": entry.wall_time,
        **{fact.name: getattr(entry, fact.name) for fact in FACTS},
        "rows": entry.rows,
        "has_gradients": entry.has_gradients,
        "unread": sorted(entry.unread.items()),
        "no_optimizer": rows_without_optimizer(reader, run, entry),
        "statistics": names,
        "whole": [{name: item[name] for name in item if name != "record"} for item in whole],
        "left_out": {
            what: [row for _, row, one in left_out if one == what] for what in ("gradient", "value")
        },
    }
    return Answer(encode_frame(header, {"values": np.stack(columns), "present": present}), BINARY)
