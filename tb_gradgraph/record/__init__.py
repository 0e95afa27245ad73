"""Converts values to bytes and back, and writes them on a thread. FORMAT.md is the contract."""

from tb_gradgraph.record.exchange.dot import to_dot
from tb_gradgraph.record.exchange.graph_def import dashboard_names
from tb_gradgraph.record.format.decode import (
    Chunk,
    count_rows,
    decode_chunk,
    decode_graph,
    decode_manifest,
)
from tb_gradgraph.record.format.envelope import PLUGIN_NAME, RecordTag, parse_tag
from tb_gradgraph.record.format.limits import MAX_TAG_BYTES
from tb_gradgraph.record.format.process import Process, tell_part
from tb_gradgraph.record.format.segment import Segment
from tb_gradgraph.record.format.stored import Presence, StoredColumn
from tb_gradgraph.record.read.event_file import Told, list_event_files, list_run_directories
from tb_gradgraph.record.read.event_file_provider import EventFiles
from tb_gradgraph.record.read.read_logdir import LoggedRun, read_logdir, read_records, read_run
from tb_gradgraph.record.read.rewritten import rewrite_chunk, rewrite_graph, versioned
from tb_gradgraph.record.read.run_room import RunRoom
from tb_gradgraph.record.read.sessions import (
    CURE,
    HiddenRecords,
    find_hidden,
    join_sessions,
    latest_facts,
    session_run,
)
from tb_gradgraph.record.read.stored_table import LastColumns
from tb_gradgraph.record.write.event_writer import WriterSink
from tb_gradgraph.record.write.rank_writer import RankWriter
from tb_gradgraph.record.write.session import Session

__all__ = [
    "CURE",
    "Chunk",
    "EventFiles",
    "HiddenRecords",
    "LastColumns",
    "LoggedRun",
    "MAX_TAG_BYTES",
    "PLUGIN_NAME",
    "Presence",
    "Process",
    "RankWriter",
    "RecordTag",
    "RunRoom",
    "Segment",
    "Session",
    "StoredColumn",
    "Told",
    "WriterSink",
    "count_rows",
    "dashboard_names",
    "decode_chunk",
    "decode_graph",
    "decode_manifest",
    "find_hidden",
    "join_sessions",
    "latest_facts",
    "list_event_files",
    "list_run_directories",
    "parse_tag",
    "read_logdir",
    "read_records",
    "read_run",
    "rewrite_chunk",
    "rewrite_graph",
    "session_run",
    "tell_part",
    "to_dot",
    "versioned",
]
