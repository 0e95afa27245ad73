"""Capture a small model many times, and print what stayed: run by test_memory.py."""

from __future__ import annotations

import argparse
import gc
import json
import pathlib
import resource
import tempfile

import torch
from torch import nn

import tb_gradgraph

STATM = pathlib.Path("/proc/self/statm")  # sizes in pages, the second is the resident one


def resident_mib() -> float:
    """Return the resident memory of this process; 0 where the system does not tell it so."""
    if not STATM.exists():
        return 0.0
    pages = int(STATM.read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def is_ours(value: object) -> bool:
    """Return whether the class of an object is of the package."""
    return str(type(value).__module__).startswith("tb_gradgraph")


def counted() -> dict[str, float]:
    """Count live tensors and objects of our classes; in all, and what memory they take."""
    objects = gc.get_objects()
    return {
        "tensors": sum(issubclass(type(o), torch.Tensor) for o in objects),
        "ours": sum(map(is_ours, objects)),
        "objects": len(objects),
        "mib": resident_mib(),
    }


def cycles() -> int:
    """Count objects of ours, and tensors, that only the garbage collector would free."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    found = [o for o in gc.garbage if is_ours(o) or issubclass(type(o), torch.Tensor)]
    gc.set_debug(0)
    gc.garbage.clear()
    return len(found)


def main() -> None:
    """Capture 500 times in the form that is asked for, with the collector off."""
    parser = argparse.ArgumentParser()
    parser.add_argument("form", choices=["model", "loss", "writer"])
    form = parser.parse_args().form
    torch.set_num_threads(1)  # threads that wait for each other would take longer than the work
    net = nn.Sequential(nn.Linear(4, 256), nn.ReLU(), nn.Linear(256, 256), nn.Linear(256, 1))
    x = torch.ones(2, 4)
    with tempfile.TemporaryDirectory() as logdir, tb_gradgraph.SummaryWriter(logdir) as writer:

        def once() -> None:
            if form == "model":
                tb_gradgraph.capture(net, x)
            elif form == "loss":
                loss = net(x).sum()
                tb_gradgraph.capture(loss)
                loss.backward()
            else:
                writer.add_grad_graph(net, x)

        found: dict[str, object] = {}
        for number in range(1, 501):
            once()
            if number == 100:  # all that is made once was made
                gc.collect()
                gc.disable()
            if number in (200, 500):
                writer.flush()
                found[str(number)] = counted()
        found["cycles"] = cycles()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
