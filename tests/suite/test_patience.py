"""Limits of tests follow the machine, and none is by the clock alone."""

from __future__ import annotations

import ast
import pathlib
import sys
from collections.abc import Iterator

import pytest

from tests import patience, warm

ROOT = pathlib.Path(__file__).parents[1]
#: Arguments and methods that take a limit.
LIMITS = {"timeout", "set_default_timeout", "set_default_navigation_timeout"}


@pytest.fixture
def slowed(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine on which work takes three times as long as on the reference."""
    monkeypatch.setattr(patience, "_last", patience._Measured())
    monkeypatch.setattr(patience, "_work", lambda: 3 * patience.REFERENCE_S)
    monkeypatch.setattr(patience, "_waiting", lambda: (0.5, 0.5))
    return monkeypatch


def test_limits_are_longer_where_work_takes_longer(slowed: pytest.MonkeyPatch) -> None:
    assert patience.patient(20) == pytest.approx(60)
    assert patience.patient_ms(20) == pytest.approx(60_000)


def test_limits_are_longer_where_many_wait_for_a_core(slowed: pytest.MonkeyPatch) -> None:
    slowed.setattr(patience, "_waiting", lambda: (2.0, 15.0))
    assert patience.patient(20) == pytest.approx(300)


def test_no_limit_is_shorter_than_it_was_written(slowed: pytest.MonkeyPatch) -> None:
    slowed.setattr(patience, "_work", lambda: 0.1 * patience.REFERENCE_S)
    assert patience.patient(20) == 20


def test_a_factor_is_measured_anew_when_it_is_old(slowed: pytest.MonkeyPatch) -> None:
    assert patience.factor() == pytest.approx(3)
    slowed.setattr(patience, "_work", lambda: 5 * patience.REFERENCE_S)
    assert patience.factor() == pytest.approx(3)
    patience._last.at -= patience.FRESH_S
    assert patience.factor() == pytest.approx(5)


def test_time_counts_less_while_the_machine_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slower = [0.0], [1.0]
    monkeypatch.setattr(patience.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(patience, "factor", lambda: slower[0])
    limit = patience.Limit(10)
    now[0] = 9
    assert not limit.is_over()
    slower[0], now[0] = 30.0, 29  # 20 s of which an idle machine would have needed less than one
    assert not limit.is_over()
    slower[0], now[0] = 1.0, 30
    assert limit.is_over()


def test_waiting_ends_with_what_it_waits_for_or_the_limit() -> None:
    asked: list[int] = []
    assert patience.wait_until(lambda: len(asked) == 3, 10, pause=lambda _: asked.append(0))
    assert not patience.wait_until(lambda: False, -1)


def test_what_does_not_end_is_killed_and_told() -> None:
    program = "import sys, time; print('begun', file=sys.stderr, flush=True); time.sleep(1000)"
    with pytest.raises(TimeoutError, match="not ended after 0 s"):
        warm.run("-c", program, limit_s=0.0)


def test_a_failed_process_ends_those_that_run_with_it() -> None:
    programs = [("-c", "raise ValueError('mine')"), ("-c", "import time; time.sleep(1000)")]
    failed, killed = warm.run_together(programs)
    assert failed.returncode == 1 and "ValueError: mine" in failed.stderr
    assert killed.returncode < 0


def test_a_warm_process_begins_and_ends_as_one_of_its_own(tmp_path: pathlib.Path) -> None:
    program = """
import atexit, os, sys, threading, warnings
atexit.register(print, "at exit")
print(__name__, sys.argv, os.getcwd(), os.environ.get("GREETING"), threading.active_count())
warnings.warn("said")
"""
    arguments = ("-W", "error:said", "-c", program, "one")
    environment = {"PATH": "", "GREETING": "hello"}
    found = warm.run(*arguments, cwd=tmp_path, env=environment)
    expected = f"__main__ ['-c', 'one'] {tmp_path} hello 1\nat exit\n"
    assert (found.stdout, found.returncode) == (expected, 1)
    assert "UserWarning: said\n" in found.stderr
    script = tmp_path / "ends.py"
    script.write_text("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert warm.run(str(script)).returncode == warm.run_cold(str(script)).returncode == -15
    assert "tb_gradgraph" not in warm.run("-c", "import sys; print(*sys.modules)").stdout.split()
    assert sys.executable in warm.run("-c", "import sys; print(sys.executable)").stdout


def list_literal_limits(path: pathlib.Path) -> Iterator[str]:
    """Yield where a limit is a plain number of seconds, or a loop asks the clock itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        given = [word.value for word in node.keywords if word.arg in LIMITS]
        given += node.args if name in LIMITS else []
        if name == "monotonic" or any(isinstance(value, ast.Constant) for value in given):
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_every_limit_of_a_test_follows_the_machine() -> None:
    """Cure: ``patient(seconds)``, ``wait_until(holds, seconds)`` or ``Limit`` of tests.patience."""
    own = ROOT / "patience.py", ROOT / "test_patience.py"
    files = [path for path in ROOT.rglob("*.py") if path not in own]
    assert len(files) > 100
    assert [place for path in files for place in list_literal_limits(path)] == []
