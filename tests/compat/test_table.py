"""docs/compatibility.md has a result for every set of versions, and says what was run."""

from __future__ import annotations

import pytest

from tests.compat import run

ROWS = {row.name: row for row in run.read_rows()}


@pytest.mark.parametrize("name", ROWS)
def test_every_row_of_versions_was_tested_as_it_stands(name: str) -> None:
    row, (_, results, _) = ROWS[name], run.read_table()
    assert name in results, f"make compat ROWS={name}"
    found = dict(zip(run.HEADER, results[name]))
    expected = {"Python": row.python, "torch": row.torch_and_more}
    expected |= {partner: getattr(row, partner) for partner in run.PARTNERS[1:]}
    assert {key: found[key] for key in expected} == expected, f"make compat ROWS={name}"


def test_no_result_stands_for_a_row_that_is_gone() -> None:
    assert run.read_table()[1].keys() == ROWS.keys()


def test_the_sets_of_tests_are_there() -> None:
    for row in ROWS.values():
        assert row.tests in run.TESTS
    for paths in run.TESTS.values():
        assert [path for path in paths if path[0] != "-" and not (run.ROOT / path).exists()] == []
