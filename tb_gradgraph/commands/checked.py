"""The result of a check of an installation or a log."""

from __future__ import annotations

import dataclasses
from typing import Literal

State = Literal["ok", "note", "wrong"]


@dataclasses.dataclass(frozen=True)
class Checked:
    """The result of one check; ``cure`` says what to do if something is wrong."""

    state: State
    text: str
    cure: str = ""
