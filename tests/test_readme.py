"""The programs in the README and in docs/quantities.md run as they stand there."""

from __future__ import annotations

import pathlib
import re

import pytest

from tb_gradgraph.record.read.read_logdir import read_logdir
from tests import warm
from tests.demo.run_demo import WARNINGS

ROOT = pathlib.Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = TEXT + (ROOT / "docs/quantities.md").read_text(encoding="utf-8")
# Libraries that warn of each other's versions, and give advice.
WARN = re.compile(r"^(?:from|import) (?:lightning|transformers|accelerate)\b", re.MULTILINE)
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGES, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_program_runs_and_logs_what_it_says(program: str, tmp_path: pathlib.Path):
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    options = () if WARN.search(program) else WARNINGS
    run = warm.run_cold if program == PROGRAMS[0] else warm.run  # one as a user starts it
    finished = run(*options, str(script), cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    if re.search(r"Writer\(|Callback\(|get_tracker\(", program):
        (run,) = (run for run in read_logdir(tmp_path / "runs") if run.records)
        assert all(record.table.present.any() for record in run.records)


def test_no_program_writes_into_the_run_of_another():
    pages = PAGES + (ROOT / "docs/statistics.md").read_text(encoding="utf-8")
    runs = re.findall(r'(?:Writer\("runs/|init_trackers\(")(\w+)"', pages)
    assert len(runs) > 8
    assert sorted(set(runs)) == sorted(runs)


def test_files_that_the_readme_names_exist():
    named = re.findall(r'(?:src|srcset)="(\S+?)"|`((?:demo|docs|tb_gradgraph)/\S*?)`', TEXT)
    paths = [image or code for image, code in named]
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_pictures_of_the_tour_exist_in_both_color_schemes():
    tour = (ROOT / "docs/tour.md").read_text(encoding="utf-8")
    pictures = re.findall(r'(?:src|srcset)="(\S+?)"', tour)
    assert {picture.rpartition("-")[2] for picture in pictures} == {"dark.png", "light.png"}
    assert sorted(pictures) == sorted(path.name for path in (ROOT / "docs").glob("tour-*.png"))
