"""The kinds of findings, causes before what follows from them."""

from collections.abc import Mapping

from tb_gradgraph.diagnose.kinds.flow_kinds import FLOW_KINDS
from tb_gradgraph.diagnose.kinds.kind import SEVERITIES, Kind, Severity
from tb_gradgraph.diagnose.kinds.nonfinite_kinds import NONFINITE_KINDS
from tb_gradgraph.diagnose.kinds.progress_kinds import PROGRESS_KINDS
from tb_gradgraph.diagnose.kinds.set_up_kinds import SET_UP_KINDS
from tb_gradgraph.diagnose.kinds.update_kinds import UPDATE_KINDS
from tb_gradgraph.diagnose.kinds.value_kinds import VALUE_KINDS

#: Every kind, by its name.
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kinds in (
        *(NONFINITE_KINDS, SET_UP_KINDS, UPDATE_KINDS, VALUE_KINDS, FLOW_KINDS),
        PROGRESS_KINDS,
    )
    for kind in kinds
}

__all__ = ["KINDS", "SEVERITIES", "Kind", "Severity"]
