"""Find a loop that clips gradients before there are any, from its bytecode; nothing is run."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FrameType

from tb_gradgraph.autograd import shown_path

_CLIPS = frozenset(("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_"))
#: Longer functions are not read.
_MOST_BYTES = 100_000


def early_clip(frame: FrameType | None) -> Iterator[str]:
    """Yield the line that clips, if a frame that calls ``backward`` clips only before it.

    A clip that an optimizer's step follows, before the backward, belongs to the gradients of the
    round before.
    """
    if frame is None or len(frame.f_code.co_code) > _MOST_BYTES:
        return
    here = frame.f_lasti
    calls = [(at, name) for at, name in _names(frame.f_code) if name in _CLIPS or name == "step"]
    clips = [at for at, name in calls if name in _CLIPS]
    if not clips or max(clips) > here:
        return
    last = max(clips)
    if not any(last < at < here for at, name in calls if name == "step"):
        code = frame.f_code
        yield f"{shown_path(code.co_filename)}:{_line(code, last)} in {code.co_name}"


def _names(code: CodeType) -> Iterator[tuple[int, str]]:
    """Yield the names that a code reads, with their offsets."""
    for instruction in dis.get_instructions(code):
        if isinstance(instruction.argval, str):
            yield instruction.offset, instruction.argval


def _line(code: CodeType, offset: int) -> int:
    lines = [line for at, line in dis.findlinestarts(code) if at <= offset and line is not None]
    return lines[-1] if lines else code.co_firstlineno
