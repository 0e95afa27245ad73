"""One process of the pair: joins the group, then runs what it is told to, a line each."""

from __future__ import annotations

import datetime
import faulthandler
import gc
import importlib
import json
import os
import pathlib
import sys
import traceback
import warnings
from collections.abc import Callable

import torch
import torch.distributed as dist

from tests.patience import patient

#: Seconds of an idle machine until a collective that the other rank does not take part in raises.
PATIENCE_S = 60


def run(check: Callable[[pathlib.Path], None], directory: pathlib.Path) -> str:
    """Run a check; give what it raised, "" if nothing."""
    torch.manual_seed(0)
    os.chdir(directory)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", category=FutureWarning)
            check(directory)
        dist.barrier()  # nobody is ahead of a check that looks at what another rank wrote
    except BaseException:
        return traceback.format_exc()
    gc.collect()
    return ""


def main() -> None:
    """Answer each line ``[check, directory]`` by a line; the rest of what is printed goes to stderr."""
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=patient(PATIENCE_S)))
    for line in sys.stdin:
        name, directory = json.loads(line)
        module, _, function = name.rpartition(".")
        check = getattr(importlib.import_module(f"tests.distributed.{module}"), function)
        answers.write(json.dumps(run(check, pathlib.Path(directory))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
