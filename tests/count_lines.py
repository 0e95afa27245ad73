"""Print how many lines each room has, so that growth is seen: ``python -m tests.count_lines``."""

from __future__ import annotations

import collections
import pathlib

ROOT = pathlib.Path(__file__).parents[1]
DIRECTORIES = ("tb_gradgraph", "demo", "tests", "frontend/src", "frontend/test")
SUFFIXES = {".py", ".ts", ".tsx"}


def print_table() -> None:
    """Print lines, files and longest file of each directory."""
    rooms: dict[str, list[int]] = collections.defaultdict(list)
    for directory in DIRECTORIES:
        for path in sorted((ROOT / directory).rglob("*")):
            if path.suffix in SUFFIXES and not path.stem.endswith("_pb2"):
                room = path.parent.relative_to(ROOT).as_posix()
                rooms[room].append(len(path.read_text(encoding="utf-8").splitlines()))
    print(f"{'lines':>7} {'files':>5} {'longest':>7}  room")
    for room, lengths in sorted(rooms.items()):
        print(f"{sum(lengths):7} {len(lengths):5} {max(lengths):7}  {room}")


if __name__ == "__main__":
    print_table()
