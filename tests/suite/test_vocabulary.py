"""What both languages must know is written once, in Python."""

from __future__ import annotations

import dataclasses

from tb_gradgraph.graph import KIND_LABELS, NO_GRADIENT_REASONS, NODE_KINDS, REASON_LABELS
from tb_gradgraph.statistics import MEASURES, STATISTICS, Statistics
from tests.suite.generate_vocabulary import (
    FINDINGS,
    ROOT,
    VOCABULARY,
    make_findings,
    make_vocabulary,
)


def test_the_panels_vocabulary_is_fresh():
    text = VOCABULARY.read_text(encoding="utf-8")
    assert text == make_vocabulary(), "run: python -m tests.suite.generate_vocabulary"


def test_the_page_of_findings_is_fresh():
    text = FINDINGS.read_text(encoding="utf-8")
    assert text == make_findings(), "run: python -m tests.suite.generate_vocabulary"


def test_every_statistic_is_a_field_of_what_users_get():
    fields = {field.name for field in dataclasses.fields(Statistics)}
    assert fields == {*STATISTICS, "histogram"}
    assert len(STATISTICS) == len({*STATISTICS})


def test_every_statistic_is_named_in_the_format():
    text = (ROOT / "tb_gradgraph/record/FORMAT.md").read_text(encoding="utf-8")
    _, found, listed = text.partition("- `columns`: one for each of `")
    assert found
    assert listed.partition("`")[0].split() == list(STATISTICS)


def test_a_spread_is_of_another_statistic_in_the_same_unit():
    units = {each.name: each.unit for each in MEASURES}
    spreads = [each for each in MEASURES if each.spread_of]
    assert spreads
    assert all(units[each.spread_of] == each.unit for each in spreads)


def test_labels_are_of_what_there_is():
    assert {*KIND_LABELS} <= {*NODE_KINDS}
    assert {*REASON_LABELS} == {*NO_GRADIENT_REASONS} - {""}
