"""An event file without room: what waits, what is lost, and how the loss is told."""

from __future__ import annotations

import pathlib
import sys
import time
import warnings
from collections.abc import Iterator

import pytest
from torch.utils.tensorboard import SummaryWriter

from tb_gradgraph.commands.doctor_log import examine_log
from tb_gradgraph.commands.summary import summarize
from tb_gradgraph.graph import Graph
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format.decode import decode_chunk
from tb_gradgraph.record.format.envelope import seal
from tb_gradgraph.record.format.gap import Gap
from tb_gradgraph.record.read.event_file import list_event_files
from tb_gradgraph.record.read.read_logdir import LoggedRun, read_run
from tb_gradgraph.record.write.chunk_writer import ChunkWriter
from tb_gradgraph.record.write.event_writer import WriterSink
from tb_gradgraph.record.write.patient_file import WAITING_BYTES
from tb_gradgraph.serve.runs.index import RunIndex
from tests.record.samples import make_graph, make_record

GRAPH = make_graph()
OTHER = Graph(GRAPH.nodes[1:2], (), ())

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /dev/full")


class Disk:
    """A writer whose file can be put on a full disk and back."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.summaries = SummaryWriter(str(directory))
        self.sink = WriterSink(self.summaries)
        self.chunks = ChunkWriter(self.sink.add_summary, "", time.time, self.sink)
        for graph in (GRAPH, OTHER):
            self.chunks.write_graph(graph)
        (self._file,) = list_event_files(directory)
        self._kept = directory / "kept"

    def fill(self) -> None:
        """Leave no room."""
        self._file.rename(self._kept)
        self._file.symlink_to("/dev/full")

    def free(self) -> None:
        """Make room again."""
        self._file.unlink()
        self._kept.rename(self._file)

    def write(self, *steps: int, graph: Graph = GRAPH) -> None:
        """Write a chunk."""
        for step in steps:
            self.chunks.write_record(make_record(graph, step))
        self.chunks.write_pending()
        self.sink.flush()
        self.chunks.settle()

    def read(self) -> LoggedRun:
        """Close the writer and read the run."""
        self.summaries.close()
        return read_run(self.directory)


@pytest.fixture
def disk(tmp_path: pathlib.Path) -> Iterator[Disk]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        disk = Disk(tmp_path)
        yield disk
        disk.summaries.close()


def _steps(run: LoggedRun) -> list[int]:
    return [record.step for record in run.records]


def test_a_chunk_that_waits_is_written_and_later_ones_are_told_of(disk: Disk) -> None:
    disk.write(0)
    disk.fill()
    disk.write(1, 2)  # waits
    disk.write(3, graph=OTHER)
    disk.write(4, 7)
    disk.free()
    disk.write(8, graph=OTHER)
    run = disk.read()
    assert _steps(run) == [0, 1, 2, 8]
    ((gap),) = run.gaps
    assert (gap.records, gap.first_step, gap.last_step) == (3, 3, 7)
    assert gap.text == (
        "steps 3 to 7: 3 records lost, because the event file could not be written: "
        "OSError: No space left on device"
    )
    assert run.graphs.keys() == {GRAPH.hash, OTHER.hash}


def test_what_the_users_events_crowd_out_is_written_anew_or_told_of(disk: Disk) -> None:
    disk.fill()
    with disk.sink._file._lock:  # all of it is queued before the first attempt
        disk.summaries.add_text("large", "x" * WAITING_BYTES)
        disk.chunks.write_record(make_record(GRAPH, 5))
        disk.chunks.write_pending()
    disk.sink.flush()
    disk.chunks.settle()
    disk.free()
    disk.write(6)
    run = disk.read()
    assert _steps(run) == [6]
    assert [(gap.records, gap.first_step, gap.last_step) for gap in run.gaps] == [(1, 5, 5)]
    assert len(run.sessions) == 1 and run.graphs.keys() == {GRAPH.hash}


def test_a_gap_at_the_end_is_told_without_records(disk: Disk) -> None:
    disk.write(0)
    disk.fill()
    disk.write(1)
    disk.write(2)
    disk.free()
    disk.write()
    run = disk.read()
    assert _steps(run) == [0, 1]
    assert [(gap.records, gap.first_step) for gap in run.gaps] == [(1, 2)]


def test_the_panel_is_told_until_the_chunk_is_gone() -> None:
    message = pb.StatisticsChunk()
    Gap(3, 4, 6, "why").encode_into(message)
    strings = seal(message)
    assert decode_chunk(strings).gap == Gap(3, 4, 6, "why")
    index, tag = RunIndex("run"), f"gradgraph/{'0' * 20}/stats/000000"
    index.add(tag, strings)
    assert index.view().warnings == ("S" + Gap(3, 4, 6, "why").text[1:],)
    index.keep_only([])
    assert index.view().warnings == ()


def test_an_early_end_is_told_at_the_end_of_the_gap(
    disk: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    disk.write(0)
    disk.fill()
    disk.write(1)
    disk.chunks.write_end("recording of 'net' ended at step 2 by a fault: why")
    disk.free()
    disk.write()
    disk.write()
    run = disk.read()
    assert _steps(run) == [0, 1] and run.gaps == ()
    assert run.ended == ("recording of 'net' ended at step 2 by a fault: why",)
    assert summarize(str(disk.directory)) == 0
    assert run.ended[0] in capsys.readouterr().out
    assert any(run.ended[0] in finding.text for finding in examine_log(disk.directory))
    index = RunIndex("run")
    index.add(f"gradgraph/{'0' * 20}/stats/000000", seal(pb.StatisticsChunk(ended="why")))
    assert index.view().warnings == ("Why",)


def test_a_gap_that_cannot_be_is_refused() -> None:
    message = pb.StatisticsChunk(lost_records=1, lost_first_step=7, lost_last_step=6)
    index = RunIndex("run")
    index.add(f"gradgraph/{'0' * 20}/stats/000000", seal(message))
    (warning,) = index.view().warnings
    assert "expected a gap of steps in order, got 7 to 6" in warning
