"""The command ``tb-gradgraph findings``: what looks wrong in trainings, worst first."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tb_gradgraph.commands.show.finding_annotations import as_annotations
from tb_gradgraph.commands.show.finding_json import as_json
from tb_gradgraph.commands.show.finding_markdown import as_markdown
from tb_gradgraph.commands.show.finding_text import as_text
from tb_gradgraph.commands.show.finding_words import count
from tb_gradgraph.commands.show.plain import printable
from tb_gradgraph.health import Training, counts, examine

_TEXT = (
    "Say what looks wrong in the trainings below a directory, the worst first, and what to try. The log "
    "may still be growing. The exit status is 2 if nothing can be said, for example because nothing was "
    "recorded."
)
_WRITERS: dict[str, Callable[[Sequence[Training]], str]] = {
    "text": as_text,
    "md": as_markdown,
    "github": as_annotations,
}


def add_findings(commands: argparse._SubParsersAction[Any]) -> None:
    """Declare the command and its options."""
    parser = commands.add_parser(
        "findings", help="say what looks wrong in a training", description=_TEXT
    )
    add_choice(parser)
    parser.add_argument("--step", type=int, help="only this recorded step")
    parser.add_argument(
        "--format",
        choices=("text", "json", "md", "github"),
        default="text",
        help="json: docs/findings-schema.md says what is in it; github: annotations of a workflow",
    )
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning"),
        help="exit with status 1 if there is a finding at least as bad",
    )
    parser.add_argument(
        "--ignore",
        action="extend",
        type=_rules,
        default=[],
        metavar="KIND[:GLOB][,..]",
        help="leave out findings of this kind, or only those at nodes whose names match; several are "
        "separated by commas, or given by several --ignore",
    )
    parser.set_defaults(run=run_findings)


def _rules(text: str) -> list[str]:
    return [rule.strip() for rule in text.split(",") if rule.strip()]


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Declare how to choose trainings of a log."""
    parser.add_argument("logdir", help="directory of a run, or of several")
    parser.add_argument("--run", dest="run_name", help="only this run, as 'summary' lists it")
    parser.add_argument("--tag", help="only the trainings of this tag")


def run_findings(arguments: argparse.Namespace) -> int:
    """Print the findings; return 0, 1 if one is as bad as ``--fail-on``, or 2 for bad input."""
    warnings: list[str] = []
    trainings = examined(arguments, "findings", warnings, arguments.step, arguments.ignore)
    if trainings is None:
        return 2
    if arguments.format == "json":
        print(as_json(trainings, warnings), end="")
    else:
        print(_WRITERS[arguments.format](trainings), end="")
    if not any(training.steps or training.found for training in trainings):
        return 2
    if arguments.fail_on is None:
        return 0
    bad = [one for each in trainings for one in each.found if counts(one, arguments.fail_on)]
    if bad:
        what = count(len(bad), arguments.fail_on)
        worse = " or worse" if arguments.fail_on == "warning" else ""
        print(f"tb-gradgraph findings: {what}{worse} found (--fail-on)", file=sys.stderr)
    return 1 if bad else 0


def examined(
    arguments: argparse.Namespace,
    command: str,
    warnings: list[str],
    step: int | None = None,
    ignore: Sequence[str] = (),
) -> list[Training] | None:
    """Return the trainings that the user chose; None if there are none: then say why.

    What cannot be read is added to ``warnings`` and told on standard error.
    """
    try:
        found = examine(arguments.logdir, arguments.run_name, arguments.tag, step, warnings.append)
        return [training.without(ignore) for training in found]
    except (ValueError, OSError) as error:
        print(f"tb-gradgraph {command}: {printable(str(error))}", file=sys.stderr)
        return None
    finally:
        for warning in warnings:
            print(f"warning: {printable(warning)}", file=sys.stderr)
