"""Case 42: no cell of an exported table is a formula, whatever modules, tags and runs are called."""

from __future__ import annotations

import csv
import io
import pathlib

import pytest
import torch

from tb_gradgraph import SummaryWriter
from tb_gradgraph.commands import main as cli
from tests.logged import read_one_run, read_record

NAMES = ["=HYPERLINK('x')", "@SUM(1+1)", "-2+3", "+1", "\t=1", "\r=1", "＝1", "-7", "0"]
FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # noqa: RUF001
TEXTS = ("run", "tag", "hash", "stage", "name", "operation", "key", "dtype")


def test_no_cell_is_a_formula_and_every_number_is_one(tmp_path: pathlib.Path, capfdbinary) -> None:
    model = torch.nn.Sequential()
    for name in NAMES:
        model.add_module(name, torch.nn.Linear(2, 2))
    run = tmp_path / "=run"
    with SummaryWriter(str(run)) as writer:
        writer.add_grad_graph(model, -torch.ones(2, 2), -3, tag="=cmd|/C calc!A0")
    assert cli.main(["export", str(tmp_path), "--format", "csv"]) == 0
    written = capfdbinary.readouterr().out.decode()
    lines = list(csv.DictReader(io.StringIO(written, newline="")))
    for line in lines:
        assert not [line[column] for column in TEXTS if line[column].startswith(FORMULA)]
        assert (line["run"], line["tag"], line["step"]) == ("'=run", "'=cmd|/C calc!A0", "-3")
    found = {line["name"].removeprefix("'"): line for line in lines}
    assert set(found) >= {f"{name}.weight" for name in NAMES}
    record = read_record(read_one_run(tmp_path))
    means = [float(line["mean"]) for line in lines]
    expected = record.table.values[record.table.present][:, 1].tolist()
    assert means == pytest.approx(expected, nan_ok=True) and min(means) < 0
