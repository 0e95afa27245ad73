"""Convert bytes to values. Every length, version and reference is checked before use."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import (
    NO_GRADIENT_REASONS,
    Edge,
    Graph,
    Node,
    Scope,
    Slot,
)
from tb_gradgraph.record.entries.fact_entries import check_facts, letters_of_facts, read_facts
from tb_gradgraph.record.entries.used_texts import listed_letters
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format import limits
from tb_gradgraph.record.format.check_graph import check_graph
from tb_gradgraph.record.format.envelope import unseal
from tb_gradgraph.record.format.gap import Gap, decode_gap
from tb_gradgraph.record.format.process import Process
from tb_gradgraph.record.format.segment import Segment, check_chunk, decode_segment, segments_of
from tb_gradgraph.statistics import FORWARD
from tb_gradgraph.training_facts import TrainingFacts


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a session."""

    session: str
    writer_version: str
    torch_version: str
    start_time: float  # seconds since the epoch
    process: Process = Process()


@dataclasses.dataclass(frozen=True, slots=True)
class Chunk:
    """Records that were written together."""

    segments: tuple[Segment, ...]
    stride: int  # every stride-th recorded step was kept
    gap: Gap | None = None  # records lost before these
    ended: str = ""  # why recording of a tag ended
    facts: tuple[TrainingFacts, ...] = ()  # what is known of trainings
    letters_of_facts: int = 0

    @property
    def quantities(self) -> int:
        """Count the quantities of its records, with the missing ones and the names of own statistics."""
        columns = (one for segment in self.segments for one in segment.quantities)
        reasons = (one for segment in self.segments for one in segment.quantity_reasons)
        own = sum(len(segment) * len(segment.own.measures) for segment in self.segments)
        return sum(map(len, columns)) + sum(map(len, reasons)) + own

    @property
    def own(self) -> int:
        """Count the numbers of own statistics."""
        return sum(len(segment.own) for segment in self.segments)

    @property
    def letters(self) -> int:
        """Count the letters of the texts that every list of records repeats."""
        of_segments = sum(listed_letters(segment.message) for segment in self.segments)
        return of_segments + self.letters_of_facts


def decode_manifest(strings: Sequence[bytes]) -> Manifest:
    """Read the manifest of a session; FormatError if it is not one."""
    message = unseal(strings, pb.Manifest)
    texts = (message.session, message.writer_version, message.torch_version)
    if any(
        len(text) > limits.MAX_TAG_BYTES for text in (*texts, message.run_id, *message.mesh_name)
    ):
        raise FormatError(f"manifest: expected texts of at most {limits.MAX_TAG_BYTES} bytes.")
    return Manifest(*texts, message.start_time, _decode_process(message))


def _decode_process(message: pb.Manifest) -> Process:
    columns = message.mesh_name, message.mesh_size, message.mesh_place
    lengths = {len(column) for column in columns}
    if len(lengths) != 1 or max(lengths) > limits.MAX_RANK:
        raise FormatError(f"manifest: expected mesh columns of one length, got {sorted(lengths)}.")
    mesh = tuple(zip(*columns))
    world = max(1, message.world_size)
    if message.rank >= world or any(place >= size for _, size, place in mesh):
        raise FormatError("manifest: expected a process within its mesh, got another.")
    return Process(message.rank, world, message.run_id, mesh)


def decode_chunk(strings: Sequence[bytes]) -> Chunk:
    """Read the index of a chunk; FormatError if it is not one."""
    message = unseal(strings, pb.StatisticsChunk)
    check_chunk(message)
    segments = tuple(map(decode_segment, segments_of(message)))
    _check_stages(segments, len(message.segments))
    if len(message.ended) > limits.MAX_TAG_BYTES:
        raise FormatError(f"chunk: expected ended of at most {limits.MAX_TAG_BYTES} bytes.")
    check_facts(message, limits.MAX_TAG_BYTES)
    told = (message.ended, read_facts(message), letters_of_facts(message))
    return Chunk(segments, max(1, message.stride), decode_gap(message), *told)


def _check_stages(segments: Sequence[Segment], count: int) -> None:
    """Check that the first ``count`` segments hold gradients, and the others values."""
    for number, segment in enumerate(segments):
        is_forward = number >= count
        if any((stage == FORWARD) != is_forward for stage in segment.facts["stage"]):
            expected = FORWARD if is_forward else f"another than {FORWARD}"
            raise FormatError(f"chunk: expected the stage of a segment to be {expected}.")


def count_rows(strings: Sequence[bytes], graph_hash: str) -> int:
    """Return the number of rows of a graph. Makes the same checks as ``decode_graph``, 100 times as fast."""
    return check_graph(_unseal_graph(strings, graph_hash))


def _unseal_graph(strings: Sequence[bytes], graph_hash: str) -> pb.GraphRecord:
    message = unseal(strings, pb.GraphRecord)
    if message.hash != graph_hash:
        raise FormatError(f"graph: expected hash {graph_hash}, got {message.hash[:40]!r}.")
    return message


def decode_graph(strings: Sequence[bytes], graph_hash: str) -> Graph:
    """Read a graph; FormatError if it is not one, or not ``graph_hash``."""
    message = _unseal_graph(strings, graph_hash)
    check_graph(message)
    texts = _Texts(message.strings)
    scopes = tuple(
        Scope(path, call, module, parent)
        for path, call, module, parent in zip(
            texts.read(message.scope_path),
            message.scope_call,
            texts.read(message.scope_module),
            message.scope_parent,
        )
    )
    nodes = _decode_nodes(message, texts)
    edges = tuple(
        itertools.starmap(
            Edge,
            zip(
                message.edge_source,
                message.edge_source_slot,
                message.edge_target,
                message.edge_target_input,
            ),
        )
    )
    return Graph(nodes, edges, scopes)


class _Texts:
    """The string table."""

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = list(strings)

    def read(self, indices: Iterable[int]) -> list[str]:
        """Return the texts at ``indices``."""
        return [self._strings[index] for index in indices]


def _decode_slots(message: pb.GraphRecord, texts: _Texts) -> list[Slot]:
    sizes = iter(message.slot_size)
    shapes = [tuple(itertools.islice(sizes, rank)) for rank in message.slot_rank]
    return list(
        itertools.starmap(
            Slot,
            zip(
                texts.read(message.slot_name),
                shapes,
                texts.read(message.slot_dtype),
                message.slot_requires_grad,
                message.slot_retains_grad,
                texts.read(message.slot_placement) or itertools.repeat(""),
            ),
        )
    )


def _decode_nodes(message: pb.GraphRecord, texts: _Texts) -> tuple[Node, ...]:
    slots = iter(_decode_slots(message, texts))
    aliases = iter(texts.read(message.node_alias))
    return tuple(
        itertools.starmap(
            Node,
            zip(
                texts.read(message.node_key),
                texts.read(message.node_name),
                texts.read(message.node_kind),
                texts.read(message.node_operation),
                message.node_scope,
                [tuple(itertools.islice(slots, count)) for count in message.node_slot_count],
                message.node_is_leaf,
                texts.read(message.node_source),
                message.node_order,
                [tuple(itertools.islice(aliases, count)) for count in message.node_alias_count],
                texts.read(message.node_note),
                _read_reasons(message, texts),
                texts.read(message.node_inside) or itertools.repeat(""),
            ),
        )
    )


def _read_reasons(message: pb.GraphRecord, texts: _Texts) -> list[str]:
    """Return the code of each node; "" for codes of newer writers."""
    codes = texts.read(message.node_reason) or [""] * len(message.node_key)
    return [code if code in NO_GRADIENT_REASONS else "" for code in codes]
