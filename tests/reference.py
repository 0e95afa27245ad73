"""Write docs/reference.md from the docstrings of the public names: ``python -m tests.reference``."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import tb_gradgraph

PAGE = pathlib.Path(__file__).parents[1] / "docs/reference.md"
#: Public besides ``tb_gradgraph.__all__``: callbacks, and what the public objects are made of.
FURTHER = {
    "Callbacks": (
        "tb_gradgraph.integrations.lightning.GradGraphCallback",
        "tb_gradgraph.integrations.transformers.GradGraphCallback",
    ),
    "What a graph is made of": (
        "tb_gradgraph.api.tensor_view.TensorView",
        "tb_gradgraph.api.grad_graph.BackwardPass",
        *(f"tb_gradgraph.graph.{name}" for name in ("Node", "Slot", "Edge", "Scope")),
        "tb_gradgraph.statistics.Statistics",
        "tb_gradgraph.diagnose.Finding",
        "tb_gradgraph.diagnose.RunFinding",
    ),
}
#: What of a class is for users, where others of ours call more of it; else all that has a docstring.
FOR_USERS = {
    "Watch": (
        "tag",
        "step",
        "note",
        "quantities",
        "findings",
        "every_n_steps",
        "cost",
        "closed",
        "close",
    ),
    "GradGraphCallback": (),  # the rest is for the Trainer
}
NOT_MADE_BY_USERS = (
    "GradGraph",
    "Watch",
    "SummaryWriter",
    "TensorView",
    "BackwardPass",
    "Finding",
    "RunFinding",
)
HEAD = """\
# Reference

Written by `python -m tests.reference` from the docstrings; a test says when it is stale.
The command line tells its own options: `tb-gradgraph --help`. The README has examples.
"""
_SECTIONS = ("Args", "Attributes", "Example", "Raises", "Returns", "Yields")
_ENTRY = re.compile(r"(\*{0,2}\w+): (.*)", re.DOTALL)


def make_page() -> str:
    """Give the whole page."""
    parts = [HEAD]
    own = [name for name in tb_gradgraph.__all__ if not name.startswith("__")]
    for title, names in {"tb_gradgraph": [f"tb_gradgraph.{n}" for n in own], **FURTHER}.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts += _of_name(name)
    return "\n".join(parts)


def _of_name(path: str) -> Iterator[str]:
    module, _, name = path.rpartition(".")
    thing = getattr(importlib.import_module(module), name)
    shown = path if path.count(".") == 1 or "integrations" in path else name
    if not inspect.isclass(thing):
        yield f"### `{shown}`\n\n```python\n{name}{_signature(thing)}\n```\n"
        yield _markdown(thing)
        return
    yield f"### class `{shown}`\n"
    own = thing.__init__
    if inspect.isfunction(own) and name not in NOT_MADE_BY_USERS:
        yield f"```python\n{name}{_signature(own, skip=1)}\n```\n"
    yield _markdown(thing)
    for member, value in _members(thing):
        yield f"#### `{name}.{member}`\n"
        if inspect.isfunction(value):
            yield f"```python\n{member}{_signature(value, skip=1)}\n```\n"
        yield _markdown(value)


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Give the public methods and properties that a class has of ours, each once."""
    found: dict[str, Any] = {}
    for base in kind.__mro__:
        if base.__module__.startswith("tb_gradgraph"):
            for name, value in vars(base).items():
                is_told = inspect.isfunction(value) or hasattr(value, "fget")
                if is_told and value.__doc__ and (name == "__getitem__" or name[0] != "_"):
                    found.setdefault(name, value)
    for name in FOR_USERS.get(kind.__name__, found):
        yield name, found[name]


def _signature(function: Any, skip: int = 0) -> str:
    """Spell a signature as the source does: annotations are texts, and stand there as such."""
    signature = inspect.signature(function)
    kept = list(signature.parameters.values())[skip:]
    kept = [one.replace(annotation=_as_written(one.annotation)) for one in kept]
    returns = _as_written(signature.return_annotation)
    flat = str(signature.replace(parameters=kept, return_annotation=returns))
    if len(flat) < 90:
        return flat
    lines = list(map(str, kept))
    of_name = [at for at, one in enumerate(kept) if one.kind is one.KEYWORD_ONLY]
    if of_name and kept[of_name[0] - 1].kind is not inspect.Parameter.VAR_POSITIONAL:
        lines.insert(of_name[0], "*")
    return "(\n    " + ",\n    ".join(lines) + ",\n)" + flat[flat.rindex(") -> ") + 1 :]


class _Written(str):
    """An annotation that ``inspect`` shows without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _as_written(annotation: Any) -> Any:
    return _Written(annotation) if isinstance(annotation, str) else annotation


def _markdown(thing: Any) -> str:
    """Turn a docstring in Google's style into Markdown."""
    text = inspect.getdoc(thing) or ""
    parts = re.split(rf"^({'|'.join(_SECTIONS)}):\n", text, flags=re.MULTILINE)
    done = [parts[0].rstrip() + "\n"]
    for title, body in zip(parts[1::2], parts[2::2]):
        done.append(f"{title}:\n\n{_section(title, inspect.cleandoc(body))}\n")
    return re.sub(r"``(.+?)``", r"`\1`", "\n".join(done)).rstrip() + "\n"


def _section(title: str, body: str) -> str:
    if title == "Example":
        return f"```python\n{body}\n```"
    if title in ("Returns", "Yields"):
        return body
    entries = re.split(r"\n(?=\S)", body)
    return "\n".join(_entry(re.sub(r"\s*\n\s+", " ", entry)) for entry in entries)


def _entry(entry: str) -> str:
    found = _ENTRY.fullmatch(entry)
    return f"- `{found[1]}`: {found[2]}" if found else f"- {entry}"


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
