"""Let torch's writer wait while the disk of its event file is full, instead of failing."""

from __future__ import annotations

import collections
import contextlib
import logging
import os
import threading
import time
import warnings
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event

#: Seconds between automatic attempts to write again.
RETRY_SECONDS = 2.0
#: How many bytes of events wait for disk space; beyond this, new events are lost.
WAITING_BYTES = 4 * 2**20

_GONE = -1  # instead of a file's length
_HEAD, _FOOT = 12, 4  # bytes around an event: length and checksum before, checksum after


def make_patient(file_writer: Any) -> PatientFile | None:
    """Put a PatientFile into torch's file writer, once. Return None if its internals are different.

    Without this, the writer's thread ends at the first OSError, and then every call of the user's
    writer raises.
    """
    try:
        # Imported here, because the writer uses TensorFlow's files if TensorFlow is installed.
        from tensorboard.compat.tensorflow_stub.io.gfile import GFile, LocalFileSystem

        records = file_writer.event_writer._async_writer._writer
        file = records._writer
        if type(file) is PatientFile:
            return file
        if type(file) is not GFile or type(file.fs) is not LocalFileSystem:
            return None
        records._writer = PatientFile(file)
    except Exception:  # whatever differs in this version, the writer works as before
        return None
    return records._writer


class PatientFile:
    """Takes one framed event per call and appends it to the file, now or when there is disk space again.

    A deleted file raises the same error as without this. If only a part of an event was written,
    the rest of it is written first later. So the file is always a valid beginning of the log. Any
    thread may call the methods.

    Args:
        file: TensorBoard's file object, which opens and closes the file at each write.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._path = os.fsdecode(file.filename)
        self._lock = threading.RLock()
        self._waiting: collections.deque[bytes] = collections.deque()
        self._waiting_bytes = 0
        self._done = 0  # bytes of the first waiting event that are in the file
        self._size: int | None = None  # the size of the file at that time
        self._tried = 0.0
        self._dropped: list[str] = []
        self._has_warned = False
        self.fault = ""

    def write(self, framed: bytes) -> None:
        """Append an event, or keep it until there is disk space."""
        with self._lock:
            if self.is_stuck(RETRY_SECONDS):
                self._keep(framed)
                return
            done = self._append(framed)
            if done < len(framed):
                self._done = done
                self._keep(framed)

    def is_stuck(self, patience: float | None = None) -> bool:
        """Say whether events wait for disk space, after another attempt if the last one is old.

        Args:
            patience: Try again if the last attempt was so many seconds ago; None: do not try.
        """
        with self._lock:
            if patience is not None and time.monotonic() - self._tried >= patience:
                self._resume()
            return bool(self._waiting)

    def take_dropped(self) -> list[str]:
        """Return the tags of our own events lost since the last call."""
        with self._lock:
            dropped, self._dropped = self._dropped, []
        return dropped

    def flush(self) -> None:
        """Try again to write waiting events."""
        with self._lock:
            self._resume()
            self._file.flush()

    def close(self) -> None:
        """Close the file; remove an event that was written only in part."""
        with self._lock:
            with contextlib.suppress(OSError):
                self._resume()
            size = self._size
            if self._waiting and self._done and size is not None and self._length() == size:
                with contextlib.suppress(OSError):
                    os.truncate(self._path, size - self._done)
            self._waiting.clear()
            self._file.close()

    @property
    def closed(self) -> bool:
        """Return whether the file was closed."""
        return self._file.closed

    def _resume(self) -> None:
        while self._waiting:
            framed = self._waiting[0]
            if self._done and self._length() not in (self._size, None):
                self._drop(framed)  # another program has changed the file
            else:
                self._done += self._append(framed[self._done :])
                if self._done < len(framed):
                    return
            self._waiting.popleft()
            self._waiting_bytes -= len(framed)
            self._done = 0

    def _keep(self, framed: bytes) -> None:
        if self._waiting_bytes >= WAITING_BYTES:
            self._drop(framed)
            return
        self._waiting.append(framed)
        self._waiting_bytes += len(framed)

    def _drop(self, framed: bytes) -> None:
        with contextlib.suppress(Exception):
            event = Event.FromString(framed[_HEAD:-_FOOT])
            tags = [value.tag for value in event.summary.value]
            self._dropped.extend(tag for tag in tags if tag.startswith("gradgraph/"))

    def _append(self, content: bytes) -> int:
        """Append the event; return how many of its bytes are in the file afterwards."""
        before = self._length()
        try:
            self._file.write(content)
        except OSError as error:
            self._tried = time.monotonic()
            done = self._find_done(content, before)
            if done is None:
                raise
            self._tell(error)
            return done
        return len(content)

    def _find_done(self, content: bytes, before: int | None) -> int | None:
        """Return how much of ``content`` was appended; None if that is unknown or the file was deleted."""
        self._size = after = self._length()
        if before is None or after is None:
            return 0 if before is after else None
        done = after - before
        if before == _GONE or not 0 <= done <= len(content):
            return None
        if done and not self._holds(before, content[:done]):
            os.truncate(self._path, before)  # the file was extended but not written
            self._size = before
            return 0
        return done

    def _holds(self, place: int, content: bytes) -> bool:
        with open(self._path, "rb") as file:
            file.seek(place)
            return file.read(len(content)) == content

    def _length(self) -> int | None:
        """Return the size of the file; None if it cannot be read."""
        try:
            return os.stat(self._path).st_size
        except (FileNotFoundError, NotADirectoryError):
            return _GONE
        except OSError:
            return None

    def _tell(self, error: OSError) -> None:
        self.fault = (
            f"{type(error).__name__}: {error.strerror or error}"  # without the path: it is logged
        )
        if not self._has_warned:
            self._has_warned = True
            warn(
                f"the event file {self._path} cannot be written ({self.fault}); training goes on. Recording "
                "and the writer pause until it can be written; whatever does not fit into "
                f"{WAITING_BYTES // 2**20} MiB until then is lost."
            )


_logger = logging.getLogger(__name__)


def warn(text: str) -> None:
    """Warn the user. If the user's filters turn the warning into an error, log it."""
    try:
        warnings.warn(f"tb_gradgraph: {text}", RuntimeWarning, stacklevel=3)
    except RuntimeWarning:  # the training must go on
        _logger.error("tb_gradgraph: %s", text)
