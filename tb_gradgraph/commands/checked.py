"""What a check of an installation or a log found."""

from __future__ import annotations

import dataclasses
from typing import Literal

State = Literal["ok", "note", "wrong"]


@dataclasses.dataclass(frozen=True)
class Checked:
    """What one check found; ``cure`` says what to do where something is wrong."""

    state: State
    text: str
    cure: str = ""
