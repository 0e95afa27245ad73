"""The command ``tb-gradgraph``, and its subcommands."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import pathlib
import sys
import threading
import urllib.parse
from collections.abc import Iterable, Sequence
from typing import Any

from tb_gradgraph.commands.findings import add_findings
from tb_gradgraph.commands.report import add_report
from tb_gradgraph.commands.show.plain import printable
from tb_gradgraph.commands.summary import summarize, warn
from tb_gradgraph.errors import GradGraphError
from tb_gradgraph.version import __version__

#: The exit status of a program whose output pipe was closed, for example by ``head``.
_ENDED_BY_SIGPIPE = 128 + 13


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 1 if something is wrong, 2 for bad usage."""
    arguments = _make_parser().parse_args(argv)
    with contextlib.suppress(
        AttributeError
    ):  # a stream of somebody else's has no errors to replace
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        status = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _stop_printing()
        return _ENDED_BY_SIGPIPE
    except (GradGraphError, OSError) as error:
        print(f"tb-gradgraph {arguments.command}: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        message = 'expected torch, which is not installed. pip install "torch>=2.6"'
        print(f"tb-gradgraph {arguments.command}: {message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _stop_printing() -> None:
    """Discard the rest of the output, which the interpreter would flush at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _IntermixedParser(argparse.ArgumentParser):
    """Accepts options between the arguments too: ``export --html runs --run net net.html``."""

    _is_within = False  # argparse calls this method recursively

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._is_within:
            return super().parse_known_args(args, namespace)
        self._is_within = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_within = False


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tb-gradgraph",
        description="The autograd graph of a PyTorch training, with its gradients, in TensorBoard.",
        epilog="In a script: tb_gradgraph.SummaryWriter(logdir).add_grad_graph(model, input). "
        "To look at the result: tensorboard --logdir LOGDIR, tab 'Grad Graph'.",
    )
    parser.add_argument("--version", action="version", version=f"tb_gradgraph {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=_IntermixedParser
    )
    _add_demo(commands)
    _add_summary(commands)
    add_findings(commands)
    add_report(commands)
    _add_doctor(commands)
    _add_export(commands)
    return parser


def _add_demo(commands: argparse._SubParsersAction[_IntermixedParser]) -> None:
    text = (
        "Train a small GPT twice, once with a learning rate that is too high for three steps, "
        "log graph, values and gradients, and start TensorBoard."
    )
    demo = commands.add_parser(
        "demo", help="train something small and look at it", description=text
    )
    demo.add_argument("--logdir", default="runs/demo", help="where to write (default: %(default)s)")
    demo.add_argument(
        "--steps", type=int, default=100, help="steps to train (default: %(default)s)"
    )
    demo.add_argument("--port", type=int, help="port to serve at (default: 6006 or the next free)")
    demo.add_argument("--no-serve", action="store_true", help="only train, start no TensorBoard")
    demo.set_defaults(run=_run_demo)


def _add_summary(commands: argparse._SubParsersAction[_IntermixedParser]) -> None:
    text = "Read event files, without TensorBoard, and list the graphs and steps recorded in them."
    summary = commands.add_parser("summary", help="list what was recorded", description=text)
    summary.add_argument("logdir", help="directory of a run, or of several")
    summary.add_argument(
        "--all-sessions",
        action="store_true",
        help="also list each session whose records a later session hides, as if it were a run",
    )
    summary.set_defaults(run=_run_summary)


def _add_doctor(commands: argparse._SubParsersAction[_IntermixedParser]) -> None:
    text = (
        "Find out why the panel does not show. Checks this environment and, if a log directory is "
        "given, the records in it. Says what to do."
    )
    doctor = commands.add_parser(
        "doctor", help="find out why the panel does not show", description=text
    )
    doctor.add_argument(
        "logdir", nargs="?", help="directory of a run, or of several, whose records to look at"
    )
    doctor.set_defaults(run=_run_doctor)


def _add_export(commands: argparse._SubParsersAction[_IntermixedParser]) -> None:
    text = (
        "Write the records of one graph: json (structure and all statistics), csv (one line "
        "for each record and tensor), dot (a drawing for Graphviz, with the norms of the last record), or "
        "html: the panel with all graphs and steps of a run, in one file that any browser opens."
    )
    export = commands.add_parser(
        "export", help="write records as json, csv, dot or one html file", description=text
    )
    export.add_argument("logdir", help="directory of a run, or of several")
    export.add_argument("file", nargs="?", help="file to write, as --output")
    export.add_argument(
        "--format", choices=("json", "csv", "csv-quantities", "dot", "html"), default="json"
    )
    export.add_argument(
        "--html", dest="format", action="store_const", const="html", help="--format html"
    )
    export.add_argument(
        "--run",
        dest="run_name",
        help="which run, as 'summary' (--all-sessions) lists it, if there are several",
    )
    export.add_argument("--tag", help="which tag of the run, if it has several")
    export.add_argument("--step", help="only records of this step")
    export.add_argument("--graph", help="only records of the graph with this hash")
    export.add_argument("--backward-pass", help="only this backward pass of a step, counted from 0")
    export.add_argument("--stage", help="only this stage of a step: backward, .., applied")
    export.add_argument("--output", help="file to write (default: standard output)")
    export.set_defaults(run=_run_export)


def _run_export(arguments: argparse.Namespace) -> int:
    if arguments.format == "html":
        return _write_html(arguments)
    from tb_gradgraph.commands.export import export

    parts = export(
        arguments.logdir,
        arguments.format,
        arguments.run_name,
        arguments.tag,
        step=arguments.step,
        hash=arguments.graph,
        backward_pass=arguments.backward_pass,
        stage=arguments.stage,
        told=warn,
    )
    output = arguments.output or arguments.file
    if output is None:
        sys.stdout.buffer.writelines(parts)
        return 0
    with open(output, "wb") as stream:
        stream.writelines(parts)
    return 0


def _write_html(arguments: argparse.Namespace) -> int:
    from tb_gradgraph.commands.html_export import export_html

    output = arguments.output or arguments.file
    if output is None:
        message = "expected a file to write, as: tb-gradgraph export --html LOGDIR graph.html"
        print(f"tb-gradgraph export: {message}", file=sys.stderr)
        return 2
    page = export_html(arguments.logdir, arguments.run_name, arguments.tag, told=warn)
    pathlib.Path(output).write_bytes(page)
    print(f"{output}: {len(page) / 1e6:.1f} MB. Any browser opens it, without TensorBoard.")
    return 0


def _run_demo(arguments: argparse.Namespace) -> int:
    import torch  # here, because it takes seconds

    from tb_gradgraph.commands import demo

    torch.set_num_threads(1)  # more would wait for each other, with tensors as small as these
    logdir = pathlib.Path(arguments.logdir)
    runs = _choose_new_runs(logdir, demo.TRAININGS)
    for name, mistake in demo.TRAININGS.items():
        print(f"Training a small GPT {demo.tell(mistake)}, logging to {runs[name]} ...", flush=True)
        loss = demo.train(runs[name], arguments.steps, mistake=mistake)
        print(f"  {arguments.steps} steps, loss {loss:.3f}", flush=True)
    if arguments.no_serve:
        print(f"To look at it: {_python()} -m tensorboard.main --logdir {arguments.logdir}")
        return 0
    return _serve(arguments.logdir, arguments.port, runs["mistake"].relative_to(logdir).as_posix())


def _choose_new_runs(logdir: pathlib.Path, names: Iterable[str]) -> dict[str, pathlib.Path]:
    """Return directories of runs that do not exist yet: gpt-mistake, gpt-mistake-2, gpt-mistake-3."""
    number = 1
    while True:
        end = "" if number == 1 else f"-{number}"
        runs = {name: logdir / f"gpt-{name}{end}" for name in names}
        if not any(run.exists() for run in runs.values()):
            return runs
        number += 1


def _python() -> str:
    """Return the path of this interpreter, relative if it is below the working directory."""
    return sys.executable.removeprefix(os.getcwd() + os.sep)


def _serve(logdir: str, port: int | None, run: str) -> int:
    from tensorboard import program

    server = program.TensorBoard()
    options = [] if port is None else ["--port", str(port)]
    server.configure(("tensorboard", "--logdir", logdir, *options))
    address = server.launch()
    link = f"{address}#gradgraph&p.gradgraph.run={urllib.parse.quote(run)}"
    print(f"TensorBoard shows it at {link} (Ctrl+C ends it)", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    return 0


def _run_summary(arguments: argparse.Namespace) -> int:
    return summarize(arguments.logdir, arguments.all_sessions)


def _run_doctor(arguments: argparse.Namespace) -> int:
    from tb_gradgraph.commands.doctor import examine
    from tb_gradgraph.commands.doctor_log import examine_log, tell_verdict

    wrong = 0
    of_log = [] if arguments.logdir is None else examine_log(arguments.logdir)
    for finding in itertools.chain(examine(), of_log):
        wrong += finding.state == "wrong"
        print(f"{finding.state:5}  {printable(finding.text)}")
        if finding.cure:
            print(f"       cure: {finding.cure}")
    print(tell_verdict(wrong, arguments.logdir))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
