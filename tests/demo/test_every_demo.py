"""What every script of ``demo/`` keeps to."""

from __future__ import annotations

import ast
import pathlib

import pytest

from tests import warm
from tests.demo.run_demo import ROOT

SCRIPTS = sorted((ROOT / "demo").glob("*.py"))
MOST_LINES = 60


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_is_short_says_what_it_shows_and_has_a_test(script: pathlib.Path):
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) < MOST_LINES
    module = ast.parse(text)
    assert ast.get_docstring(module)
    (main,) = (node for node in module.body if getattr(node, "name", "") == "main")
    assert [argument.arg for argument in main.args.args] == ["logdir"]
    assert (ROOT / "tests" / "demo" / f"test_{script.stem}.py").is_file()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_says_where_it_writes_and_what_it_shows(script: pathlib.Path, tmp_path):
    finished = warm.run(str(script), "--help", cwd=tmp_path)
    assert finished.returncode == 0
    assert f"(runs/{script.stem})" in finished.stdout
    told = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    assert "".join(told.split()) in "".join(finished.stdout.split())  # as it breaks lines
    assert list(tmp_path.iterdir()) == []
