"""Event files read back: what torch's writer wrote, cut-off ends, flipped bytes."""

from __future__ import annotations

import pathlib
import struct
import tracemalloc

import google_crc32c
import pytest
from torch.utils.tensorboard import SummaryWriter

from tb_gradgraph.errors import FormatError
from tb_gradgraph.record.read.event_file import _mask, list_event_files, read_event_file


@pytest.fixture
def event_file(tmp_path: pathlib.Path) -> pathlib.Path:
    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(3):
            writer.add_scalar("loss", 0.5 * step, step)
    (path,) = list_event_files(tmp_path)
    return path


def test_events_come_in_order(event_file: pathlib.Path):
    first, *events = read_event_file(event_file)
    assert first.file_version == "brain.Event:2"
    assert [(event.step, event.summary.value[0].tag) for event in events] == [
        (step, "loss") for step in range(3)
    ]


def test_cut_off_file_gives_the_events_before_the_cut(event_file: pathlib.Path):
    content = event_file.read_bytes()
    whole = len(list(read_event_file(event_file)))
    counts = set()
    for size in range(len(content)):
        event_file.write_bytes(content[:size])
        counts.add(len(list(read_event_file(event_file))))
    assert counts == set(range(whole))


def test_every_flipped_byte_is_noticed(event_file: pathlib.Path):
    content = bytearray(event_file.read_bytes())
    for at in range(len(content)):
        content[at] ^= 0x10
        event_file.write_bytes(content)
        with pytest.raises(FormatError, match=r"tfevents.*, byte \d+: expected"):
            list(read_event_file(event_file))
        content[at] ^= 0x10


def test_length_beyond_the_limit_is_refused_before_reading(event_file, monkeypatch):
    monkeypatch.setattr("tb_gradgraph.record.read.event_file.MAX_EVENT_BYTES", 8)
    with pytest.raises(FormatError, match="expected at most 8 bytes"):
        list(read_event_file(event_file))


def test_nothing_is_allocated_for_a_length_that_the_file_does_not_have(event_file: pathlib.Path):
    whole = len(list(read_event_file(event_file)))
    length = struct.pack("<Q", 2**29)
    with open(event_file, "ab") as stream:
        stream.write(length + struct.pack("<I", _mask(google_crc32c.value(length))) + b"short")
    tracemalloc.start()
    try:
        assert len(list(read_event_file(event_file))) == whole
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_list_event_files_is_sorted_and_skips_other_files(event_file: pathlib.Path):
    (event_file.parent / "notes.txt").write_text("")
    earlier = event_file.with_name("events.out.tfevents.0000000001.host")
    earlier.write_bytes(b"")
    assert list_event_files(event_file.parent) == [earlier, event_file]
    assert list(read_event_file(earlier)) == []
