"""Convert a graph for the standard Graphs dashboard, with names nested by scope."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

from tb_gradgraph.graph import NO_SCOPE, Graph, Node, Scope

_UNSAFE = re.compile(r"[^A-Za-z0-9_.\-]")


def encode_run_metadata(graph: Graph) -> bytes:
    """Return the bytes of a RunMetadata, which the Graphs dashboard shows as a tagged graph."""
    metadata = RunMetadata()
    metadata.function_graphs.add().pre_optimization_graph.CopyFrom(to_graph_def(graph))
    return metadata.SerializeToString(deterministic=True)


def to_graph_def(graph: Graph) -> GraphDef:
    """Return the nodes in forward order, with shapes, source lines and data edges."""
    names = dashboard_names(graph)
    inputs: list[list[tuple[int, str]]] = [[] for _ in names]
    for edge in graph.edges:
        source = names[edge.source] + (f":{edge.source_slot}" if edge.source_slot else "")
        inputs[edge.target].append((edge.target_input, source))
    nodes = [
        NodeDef(
            name=name,
            op=node.operation or node.kind,
            input=[source for _, source in sorted(entries)],
            attr=_attributes(node),
        )
        for node, name, entries in zip(graph.nodes, names, inputs)
    ]
    return GraphDef(node=nodes, versions=VersionDef(producer=22))


def _attributes(node: Node) -> dict[str, AttrValue]:
    shapes = [
        TensorShapeProto(
            dim=[TensorShapeProto.Dim(size=size) for size in slot.shape],
            unknown_rank=not slot.has_shape,
        )
        for slot in node.slots
    ]
    texts = {"kind": node.kind, "key": node.key, "source": node.source, "note": node.note}
    texts["dtype"] = ", ".join(slot.dtype for slot in node.slots)
    attributes = {name: AttrValue(s=_utf8(text)) for name, text in texts.items() if text}
    return attributes | {"_output_shapes": AttrValue(list=AttrValue.ListValue(shape=shapes))}


def dashboard_names(graph: Graph) -> list[str]:
    """Name every node in the Graphs dashboard: its scopes and itself, separated by ``/``.

    The third call of ``lin`` is ``lin_2``. Letters outside ``[A-Za-z0-9_.-]`` become ``_``,
    and a name that is then no longer unique gets a number.
    """
    taken: set[str] = set()
    prefixes: list[str] = []
    for scope in graph.scopes:
        prefixes.append(_unique(_scope_name(scope, graph.scopes, prefixes), taken))
    return [_unique(_node_name(node, graph.scopes, prefixes), taken) for node in graph.nodes]


def _scope_name(scope: Scope, scopes: Sequence[Scope], prefixes: Sequence[str]) -> str:
    parent = scopes[scope.parent].path if scope.parent != NO_SCOPE else ""
    own = _safe(_below(scope.path, parent) or scope.module)
    name = f"{own}_{scope.call}" if scope.call else own
    return f"{prefixes[scope.parent]}/{name}" if scope.parent != NO_SCOPE else name


def _node_name(node: Node, scopes: Sequence[Scope], prefixes: Sequence[str]) -> str:
    own = node.name.rpartition("/")[2]
    if node.scope != NO_SCOPE:
        own = _below(own, scopes[node.scope].path)
        return f"{prefixes[node.scope]}/{_safe(own) or node.kind}"
    parts = own.split(".") if node.kind in ("parameter", "buffer") else [own]
    return "/".join(_safe(part) for part in parts if part) or node.kind


def _below(path: str, parent: str) -> str:
    return path[len(parent) + 1 :] if parent and path.startswith(parent + ".") else path


def _safe(text: str) -> str:
    name = _UNSAFE.sub("_", text)
    return f".{name}" if name[:1] in ("_", "-") else name  # a name with a leading _ is internal


def _unique(name: str, taken: set[str]) -> str:
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate


def _utf8(text: str) -> bytes:
    return text.encode(errors="replace")
