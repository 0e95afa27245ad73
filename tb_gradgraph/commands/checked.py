"""What a check of an installation or a log found."""

from __future__ import annotations

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class Checked:
    """What one check found; ``cure`` says what to do where something is wrong."""

    state: Literal["ok", "note", "wrong"]
    text: str
    cure: str = ""
