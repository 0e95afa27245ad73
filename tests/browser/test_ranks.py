"""A training of several processes is one run in the panel, and each process can be looked at."""

from __future__ import annotations

import pytest

from tests.browser.panel import Panel
from tests.ranks.rank_logs import write_rank
from tests.ranks.test_joined_run import MESHES, WHOLE

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("load_fast", [True, False])
def test_all_ranks_and_one(load_fast, tensorboard_server, tmp_path, page):
    for rank in MESHES["hybrid"]:
        write_rank(tmp_path / "net", rank, WHOLE.shape, (0, 5))
    panel = Panel.open(
        page,
        tensorboard_server(tmp_path, load_fast=load_fast),
        run="net",
        step="5",
        sel="parameter:w",
    )
    card = panel.control("card")
    whole, parts = WHOLE * 6, {0: WHOLE[:3] * 6, 3: WHOLE[3:] * 6}
    assert panel.control("run").locator("option").all_text_contents() == ["net"]
    told = panel.control("rank").locator("option").all_text_contents()
    assert told == ["all ranks", "rank 0", "rank 1", "rank 2", "rank 3"]

    def shows(norm: float, is_part: bool) -> bool:
        text = card.inner_text()
        return f"{norm:.4g}" in text and ("shard" in text) == is_part

    panel.wait_until(lambda: shows(float(whole.norm()), False))
    for rank, part in parts.items():
        panel.control("rank").select_option(label=f"rank {rank}")
        panel.wait_until(lambda part=part: shows(float(part.norm()), True))
        assert panel.control("run").input_value() == "net"
    panel.control("rank").select_option(label="all ranks")
    panel.wait_until(lambda: shows(float(whole.norm()), False))
