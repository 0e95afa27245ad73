"""Find the tensors without gradient that a forward used, from its lines and its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.bytecode.line_reading import read_line
from tb_gradgraph.autograd.forward.origins import Origin
from tb_gradgraph.autograd.forward.schemas import gives_tensor
from tb_gradgraph.autograd.forward.seen_tensors import SeenTensors
from tb_gradgraph.autograd.operands.called_functions import CalledFunctions, tensors_given
from tb_gradgraph.autograd.operands.used_operands import UsedOperands
from tb_gradgraph.autograd.user_code.stack_frames import Snapshots
from tb_gradgraph.autograd.user_code.torch_calls import TorchCall


class NotedOperands:
    """Handles lines and calls of the user's code and of torch's layers, and notes their operands."""

    def __init__(
        self,
        seen: SeenTensors,
        snapshots: Snapshots,
        made_by: Callable[[torch.Tensor], AutogradNode | None],
        made_of: Callable[[str, Sequence[torch.Tensor]], Origin | None],
    ) -> None:
        """Prepare.

        Args:
            seen: Describes tensors.
            snapshots: Reads variables.
            made_by: Returns a tensor's node if asking is safe.
            made_of: Notes that a function is about to make a tensor from its arguments.
        """
        self.lines = UsedOperands(seen, made_by)
        self.functions = CalledFunctions(seen)
        self._snapshots, self._made_of = snapshots, made_of

    def enter(self, frame: FrameType, is_new: bool) -> None:
        """Handle a call of the user's code; ``is_new``: a node was made just before."""
        self.lines.enter(frame.f_back)
        self.functions.enter(frame, self._snapshots.look, is_new)

    def begin_call(self, frame: FrameType, call: TorchCall) -> None:
        """Handle a call of a function of torch that ``frame`` is about to make."""
        self.functions.begin(frame, call, self._snapshots.look)
        if self.lines.takes(frame) and gives_tensor(call.name, call.receiver is not None):
            given = tensors_given(frame, call, self._snapshots.look)
            self.lines.note_made(frame, self._made_of(call.name, given), by_torch=True)

    def concerns(self, event: str, frame: FrameType) -> bool:
        """Return whether a line that begins, or a frame that returns, can tell anything."""
        begins = event == "line" and read_line(frame.f_code, frame.f_lasti) is not None
        return begins or self.lines.follows(frame)

    def hear_line(
        self, event: str, frame: FrameType, returned: Any, read: Mapping[str, Any] | None
    ) -> None:
        """Handle a line that begins, or a frame that returns.

        Args:
            event: "line" or "return".
            frame: The frame.
            returned: What it returns.
            read: Its variables, if they were read already.
        """
        lines = self.lines
        reading = read_line(frame.f_code, frame.f_lasti) if event == "line" else None
        if read is None and (lines.ends(frame) or (reading is not None and reading.early)):
            read = self._snapshots.read(frame)
        variables: Mapping[str, Any] = read or {}
        lines.end_line(frame, variables, returned, event == "return")
        if event == "line":
            lines.begin_line(frame, reading, variables)
        else:
            lines.leave(frame)

    def forget(self, numbers: range) -> None:
        """Forget the operands of nodes."""
        for number in numbers:
            self.lines.forget(number)
        self.functions.forget(numbers)

    def close(self) -> None:
        """Note that no line or call runs any more."""
        self.lines.close()
        self.functions.close()

    def release(self) -> None:
        """Release the callbacks, which hold this object."""
        self.close()
        self.lines.release()
        self._made_of = _nothing


def _nothing(_function: str, _given: Sequence[torch.Tensor]) -> Origin | None:
    return None
