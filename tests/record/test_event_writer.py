"""The user's own writers: torch's and tensorboardX's, open and closed, with the fast checksum."""

from __future__ import annotations

import pathlib
import types

import google_crc32c
import pytest
import tensorboardX
from tensorboard.compat.proto.event_pb2 import Event
from torch.utils.tensorboard import SummaryWriter

from tb_gradgraph.errors import WriterError
from tb_gradgraph.record.format.envelope import PLUGIN_CONTENT, record_summary
from tb_gradgraph.record.read.event_file import list_event_files, read_event_file
from tb_gradgraph.record.write import checksum
from tb_gradgraph.record.write.checksum import use_fast_checksum
from tb_gradgraph.record.write.event_writer import WriterSink

SUMMARY = record_summary("gradgraph/x", (b"header", b"payload" * 1000))


def read_events(directory: pathlib.Path) -> list[Event]:
    (path,) = list_event_files(directory)
    return [event for event in read_event_file(path) if event.HasField("summary")]


@pytest.mark.parametrize("make_writer", [SummaryWriter, tensorboardX.SummaryWriter])
def test_summary_arrives_with_class_and_step(make_writer, tmp_path):
    with make_writer(str(tmp_path)) as writer:
        sink = WriterSink(writer)
        sink.add_summary(SUMMARY, 7)
        sink.flush()
    (event,) = read_events(tmp_path)
    assert event.step == 7
    assert event.summary == SUMMARY
    metadata = event.summary.value[0].metadata
    assert (metadata.plugin_data.plugin_name, metadata.plugin_data.content) == (
        "gradgraph",
        PLUGIN_CONTENT,
    )
    assert metadata.data_class == 2


@pytest.mark.parametrize("make_writer", [SummaryWriter, tensorboardX.SummaryWriter])
def test_closed_writer_is_refused_and_not_opened_again(make_writer, tmp_path):
    writer = make_writer(str(tmp_path))
    sink = WriterSink(writer)
    writer.close()
    expected = r"watch\(\): expected an open SummaryWriter, got one that was closed"
    with pytest.raises(WriterError, match=expected):
        WriterSink(writer, "watch()")
    for refused in (sink.check_open, sink.flush, lambda: sink.add_summary(SUMMARY, 0)):
        with pytest.raises(WriterError, match="expected an open SummaryWriter"):
            refused()
    assert len(list_event_files(tmp_path)) == 1


def test_writer_that_writes_nowhere_is_taken(tmp_path):
    writer = tensorboardX.SummaryWriter(str(tmp_path), write_to_disk=False)
    sink = WriterSink(writer)
    sink.add_summary(SUMMARY, 0)
    sink.flush()


@pytest.mark.parametrize("writer", [None, "runs/a", object(), print])
def test_other_objects_are_refused(writer):
    expected = f"expected a SummaryWriter of torch or tensorboardX, got {type(writer).__name__}"
    with pytest.raises(WriterError, match=expected):
        WriterSink(writer)


def write_samples(directory: pathlib.Path, fast: bool, monkeypatch) -> bytes:
    monkeypatch.setattr("time.time", lambda: 1.7e9)
    with SummaryWriter(str(directory)) as writer:
        if fast:
            assert use_fast_checksum(writer.file_writer)
        for size in (0, 1, 2, 3, 8, 1000, 100_000):
            writer.file_writer.add_summary(
                record_summary("gradgraph/x", (b"h", b"\xa5" * size)), size
            )
    (path,) = list_event_files(directory)
    return path.read_bytes()


def test_fast_checksum_gives_the_same_file(tmp_path, monkeypatch):
    stock = write_samples(tmp_path / "stock", False, monkeypatch)
    fast = write_samples(tmp_path / "fast", True, monkeypatch)
    assert stock == fast


def test_fast_checksum_is_used_for_this_writer_alone(tmp_path):
    with SummaryWriter(str(tmp_path / "a")) as writer, SummaryWriter(str(tmp_path / "b")) as other:
        WriterSink(writer)
        assert "write" in vars(writer.file_writer.event_writer._async_writer._writer)
        assert "write" not in vars(other.file_writer.event_writer._async_writer._writer)


@pytest.mark.parametrize("surprise", ["pure python", "wrong checksum", "no library"])
def test_any_surprise_leaves_the_stock_path(surprise: str, tmp_path, monkeypatch):
    if surprise == "pure python":
        monkeypatch.setattr(google_crc32c, "implementation", "python")
    elif surprise == "wrong checksum":
        monkeypatch.setattr(google_crc32c, "value", lambda content: 1)
    else:
        monkeypatch.setitem(checksum.__dict__, "_load_checksum", lambda: 1 / 0)
    with SummaryWriter(str(tmp_path)) as writer:
        assert not use_fast_checksum(writer.file_writer)
        assert "write" not in vars(writer.file_writer.event_writer._async_writer._writer)


@pytest.mark.parametrize("other", [None, object(), types.SimpleNamespace(event_writer=None)])
def test_file_writers_with_other_internals_are_left_alone(other):
    assert not use_fast_checksum(other)
