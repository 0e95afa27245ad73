"""The battery of planted faults and healthy trainings: its cases, and how it counts. It runs by itself."""

from __future__ import annotations

import collections
import pathlib
import re

import pytest
import torch

import tb_gradgraph
from tb_gradgraph.diagnose import KINDS
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tests.diagnose.battery import run_battery, score
from tests.diagnose.battery.battery_page import PAGE, list_earlier, write_half
from tests.diagnose.battery.case import Case
from tests.diagnose.battery.examine import Outcome, ask_anomaly_mode, examine, has_fallen, train

FIRST = run_battery.cases_of("first")
#: Kinds that say something of the recording, or of what is no fault of its own.
NOT_PLANTED = {
    *("cancelled", "nan_victim", "no_backward", "not_read", "nothing_selected", "step_skipped"),
}


def nothing(watch) -> None:
    """Train nothing."""


def finding(kind: str, node: str = "", first_step: int = 0, **more) -> RunFinding:
    return RunFinding(
        kind=kind, severity=KINDS[kind].severity, text="", node=node, first_step=first_step, **more
    )


FAULT = Case("a", nothing, ("vanishing", "saturated"), ("fc?.*",), 7)


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_cases_have_names_of_their_own():
    names = collections.Counter(
        case.slug for half in run_battery.HALVES for case in run_battery.cases_of(half)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_cases_name_kinds_that_exist():
    assert {kind for case in FIRST for kind in case.kinds} == KINDS.keys() - NOT_PLANTED
    assert max(len(case.kinds) for case in FIRST) <= 3


@pytest.mark.parametrize("half", run_battery.HALVES)
def test_each_part_has_enough_faults_and_healthy_trainings(half: str):
    cases = run_battery.cases_of(half)
    assert {kind for case in cases for kind in case.kinds} <= KINDS.keys()
    assert sum(not case.is_healthy for case in cases) >= 40
    assert sum(case.is_healthy for case in cases) >= 30


def test_there_are_enough_cases_of_each_family():
    counts = collections.Counter((case.is_healthy, case.family) for case in FIRST)
    for is_healthy, least in ((False, 32), (True, 30)):
        assert (
            sum(
                counts[is_healthy, family] for family in ("mlp", "conv", "transformer", "recurrent")
            )
            >= least
        )
    assert min(counts.values()) >= 4
    assert {family for _, family in counts} == {"mlp", "conv", "transformer", "recurrent"}


def test_place_is_that_of_the_first_finding_of_a_right_kind():
    found = (finding("nonfinite"), finding("saturated"), finding("vanishing"))
    assert score.place_of(Outcome(FAULT, found)) == 1
    assert score.place_of(Outcome(FAULT, found[:1])) is None


@pytest.mark.parametrize(
    ("found", "is_right"),
    [
        (finding("vanishing", "fc1.weight"), True),
        (finding("vanishing", "head", nodes=("head", "fc2.bias")), True),
        (finding("vanishing", "conv.weight"), False),
        (finding("exploding", "fc1.weight"), False),  # of another kind
    ],
)
def test_node_is_right_if_a_finding_of_a_right_kind_names_it(found: RunFinding, is_right: bool):
    assert score.has_right_node(Outcome(FAULT, (finding("saturated"), found))) is is_right


@pytest.mark.parametrize(("step", "is_right"), [(6, True), (7, True), (8, True), (9, False)])
def test_step_may_be_one_beside(step: int, is_right: bool):
    found = (finding("exploding", first_step=7), finding("vanishing", first_step=step))
    assert score.has_right_step(Outcome(FAULT, found)) is is_right


def made_up() -> list[Outcome]:
    healthy = Case("b", nothing)
    return [
        Outcome(FAULT, (finding("vanishing", "fc1.weight", 7),)),
        Outcome(FAULT, (*(finding("nonfinite"),) * 3, finding("saturated"))),
        Outcome(FAULT, ()),
        Outcome(
            *(
                Case("n", nothing, ("nonfinite_value",), ("log",)),
                (finding("nonfinite_value", "log"),),
            ),
            anomaly="LogBackward0",
            is_anomaly_right=True,
        ),
        Outcome(healthy, (finding("frozen"), finding("vanishing"), finding("vanishing", "x"))),
        Outcome(healthy, (finding("frozen"),)),
    ]


def test_headline_counts():
    assert [*score.headline(made_up()).values()] == [
        *("0.50 (2 of 4)", "0.50 (2 of 4)", "0.75 (3 of 4)"),
        "0.50 (2 of 4)",  # nodes
        "0.50 (1 of 2)",  # steps
        *("1 of 2", "0", "1.0"),
        *("1.00 (1 of 1)", "1.00 (1 of 1)"),
    ]
    assert score.false_alarms(made_up()) == [("vanishing", 1)]
    assert score.by_kind(made_up()) == [
        ("nonfinite_value", 1, 1, 1, 1, "1 of 1"),
        ("vanishing", 3, 1, 1, 2, "1 of 3"),
    ]


def test_lines_say_what_was_found():
    lines = [score.line_of(outcome) for outcome in made_up()]
    assert lines[0] == f"{'place 1':20} a [vanishing/saturated]: vanishing(fc1.weight@7)"
    assert lines[1].startswith("place 4, node, step")
    assert lines[2].startswith("MISSED, node, step")
    assert [line.partition(" ")[0] for line in lines[4:]] == ["ALARM", "quiet"]


def test_an_empty_battery_has_no_shares():
    assert score.headline([])["right finding first"] == "none"


def test_falling_is_told_from_noise():
    assert has_fallen([1.0, 0.9, 0.8, 0.5])
    assert has_fallen([-0.2, -0.3, -0.6, -0.9])
    assert not has_fallen([1.0, 1.1, 0.9, 1.0, 1.1, 0.95, 1.05, 0.98])
    assert not has_fallen([1.0, 0.5, float("nan"), float("nan")])


def test_page_keeps_a_line_of_each_earlier_run(tmp_path: pathlib.Path):
    page = tmp_path / "battery.md"
    text = PAGE.read_text(encoding="utf-8")
    page.write_text(re.sub(r"(: begin -->).*?(<!-- \w+: end)", r"\1\n\2", text, flags=re.DOTALL))
    write_half("second", made_up(), page)
    first = page.read_text(encoding="utf-8")
    assert (
        "| right finding first | 0.50 (2 of 4) |" in first
        and "\n- " not in first.partition("Second half")[2]
    )
    for _ in range(2):
        write_half("second", made_up()[:1], page)
    section = page.read_text(encoding="utf-8").partition("<!-- second: begin -->")[2]
    earlier = list_earlier(section)
    assert len(earlier) == 3 and ["first 0.50" in line for line in earlier] == [False, False, True]


def test_page_without_marks_is_refused(tmp_path: pathlib.Path):
    page = tmp_path / "battery.md"
    page.write_text("# Nothing\n")
    with pytest.raises(ValueError, match="expected the marks"):
        write_half("first", [], page)


def test_figures_of_a_part_are_not_written():
    with pytest.raises(SystemExit):
        run_battery.parse(["--write", "--only", "gpt"])


def named(name: str) -> Case:
    (case,) = (case for case in FIRST if case.name == name)
    return case


@pytest.mark.parametrize("name", ["mlp: gradients divided by zero", "mlp: Adam", "lstm: truncated"])
def test_a_training_is_recorded(name: str, tmp_path: pathlib.Path):
    assert examine(named(name), tmp_path, asks_findings=False).complaints == ()
    again = examine(named(name), tmp_path, asks_findings=False)  # from the log
    assert again.complaints == () and again.seconds < 0.1


def test_findings_are_asked_for(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    asked = []

    def findings(logdir: pathlib.Path) -> list[RunFinding]:
        asked.append(logdir)
        return [finding("nonfinite_origin", "Swish", 13)]

    monkeypatch.setattr(tb_gradgraph, "findings", findings, raising=False)
    outcome = examine(named("mlp: backward by hand"), tmp_path)
    assert asked and score.has_right_node(outcome) and score.has_right_step(outcome)
    assert outcome.anomaly == "SwishBackward" and outcome.is_anomaly_right


def test_findings_that_fail_do_not_end_the_battery(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    def findings(logdir: pathlib.Path) -> list[RunFinding]:
        raise KeyError("net")

    monkeypatch.setattr(tb_gradgraph, "findings", findings, raising=False)
    assert examine(named("mlp: learning rate 0"), tmp_path).complaints == (
        "findings() fails: KeyError('net')",
    )


def test_what_is_wrong_with_a_case_is_said(tmp_path: pathlib.Path):
    assert examine(Case("c", nothing), tmp_path, False).complaints == (
        "nothing was watched",
        "nothing was recorded",
    )
    plain = named("mlp: Adam")
    misnamed = Case("d", plain.train, ("vanishing",), ("fc9.*",))
    assert examine(misnamed, tmp_path, False).complaints == ("no node is called like fc9.*",)

    def rising(watch) -> list[float]:
        plain.train(watch)
        return [1.0, 2.0, 3.0, 4.0]

    (complaint,) = train(Case("e", rising), tmp_path / "e")
    assert complaint == "its loss does not fall: 1, 2, 3, 2, 3, 4"


def test_anomaly_mode_finds_nothing_in_a_healthy_training():
    assert ask_anomaly_mode(named("mlp: Adam")) == ""
