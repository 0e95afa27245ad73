"""What the tests cost is counted whole, and shown beside what it may."""

from __future__ import annotations

import json
import pathlib

from tests import order, spent, warm

WORK = "total = 0\nfor number in range(6_000_000): total += number"


def test_processes_that_a_test_started_are_counted_running_and_ended(tmp_path: pathlib.Path):
    warm.run("-c", "")  # it has started by now
    before = spent.processor_s()
    warm.run("-c", WORK)
    forked = spent.processor_s()
    assert forked - before > 0.05
    warm.run_cold("-c", WORK)
    assert spent.processor_s() - forked > 0.05


def test_an_area_beyond_its_budget_is_marked():
    notes = [["lint", 3, 4], ["training", 150, 60], ["training", 50, 40], ["new", 1, 1]]
    table = spent.format_table(map(json.dumps, notes)).splitlines()
    rows = {row.split()[0]: row for row in table[1:]}
    assert rows["lint"].split()[1:] == [str(spent.BUDGETS["lint"]), "3", "4"]
    assert rows["training"].split()[2:4] == ["200", "100"]
    assert "MORE" in rows["training"] and "MORE" in rows["new"]
    assert not [area for area in ("lint", "browser") if "MORE" in rows[area]]
    assert rows.keys() == {*spent.BUDGETS, "new", "all"}


def test_the_dearest_tests_stand_below_the_areas_and_count_in_none():
    notes = [["lint", 3, 4], ["tests/watch/test_a.py::test_b", 20, 30], ["watch", 25, 40]]
    table = spent.format_table(map(json.dumps, notes)).splitlines()
    assert table[-1].split() == ["20", "30", "watch/test_a.py::test_b"]
    total = next(row for row in table if row.startswith("all"))
    assert total.split()[2:] == ["28", "44"]


def test_every_area_that_there_is_has_a_budget_and_all_fit_into_ten_minutes():
    tests = pathlib.Path(spent.__file__).parent
    areas = {
        spent.area_of(str(path.relative_to(tests.parent))) for path in tests.rglob("test_*.py")
    }
    assert areas <= spent.BUDGETS.keys()
    assert sum(spent.BUDGETS.values()) <= 2 * 600 * 0.95


def test_what_shares_logs_or_a_page_shares_a_process_and_begins():
    paths = ("golden/test_a.py", "demo/b.py", "browser/test_panel.py", "browser/test_c.py")
    tests = [f"tests/{path}::test" for path in paths]
    groups = [order.group_of(test) for test in tests]
    assert groups == ["golden/test_a.py", "demos", "demos", "browser"]
    places = [order.place_of(test) for test in tests]
    assert places[3] < places[2] == places[1] < order.place_of("tests/serve/a.py") < places[0]
