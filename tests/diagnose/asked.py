"""Ask what TensorBoard tells its panel about a training that a test has logged."""

from __future__ import annotations

import json
import pathlib
import struct
from typing import Any

from tb_gradgraph.record.read.event_file_provider import EventFiles
from tb_gradgraph.serve.request.answer import Answer
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.routes.findings_route import answer_findings
from tb_gradgraph.serve.runs.reader import Reader


def ask(
    logdir: pathlib.Path, step: int, stage: str | None = None, backward_pass: int = 0
) -> dict[str, Any]:
    """Return the answer of the route ``findings``; of the only run and tag."""
    reader = Reader(EventFiles(logdir))
    ((name, run),) = reader.runs().items()
    (tag,) = run.records
    query = {"run": name, "tag": tag, "step": str(step)}
    if backward_pass:
        query["backward_pass"] = str(backward_pass)
    if stage is not None:
        query["stage"] = stage
    return json.loads(answer_findings(reader, Parameters(query)).content)


def texts(answer: dict[str, Any], kind: str) -> list[str]:
    """Return the sentences of one kind."""
    return [finding["text"] for finding in answer["findings"] if finding["kind"] == kind]


def read_header(answer: Answer) -> dict[str, Any]:
    """Return the header of a binary frame."""
    content = answer.content
    assert isinstance(content, bytes)
    (length,) = struct.unpack_from("<I", content)
    return json.loads(content[4 : 4 + length])
