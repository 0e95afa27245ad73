"""A recorded step with statistics of the user's own leaves no reference circles either."""

from __future__ import annotations

import pathlib

import pytest

from tests import warm
from tests.training.unseen.test_no_circles import SCRIPT

STATISTICS = """
import warnings
import tb_gradgraph
for of in ("gradient", "value", "weight"):
    tb_gradgraph.statistic("good_" + of, of=of)(lambda tensor: tensor.sum())
    tb_gradgraph.statistic("bad_" + of, of=of)(lambda tensor: tensor)
warnings.simplefilter("ignore")
"""


@pytest.mark.parametrize("level", ["param", "module", "op"])
def test_recorded_steps_leave_no_circles(level: str, tmp_path: pathlib.Path) -> None:
    script = SCRIPT.replace("logdir, level", STATISTICS + "logdir, level", 1)
    finished = warm.run("-c", script, str(tmp_path), level, "True")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split() == []
