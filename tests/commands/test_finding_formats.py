"""The formats of ``tb-gradgraph findings``, read by parsers that are not ours."""

from __future__ import annotations

import html.parser
import json
import math
import pathlib
import re

import pytest
from markdown_it import MarkdownIt

import tb_gradgraph
from tb_gradgraph.commands import main as cli
from tb_gradgraph.commands.show.plain import code_markdown, plain_markdown
from tests.health.recorded import HOSTILE, STEPS

SCHEMA = (pathlib.Path(__file__).parents[2] / "docs/findings-schema.md").read_text(encoding="utf-8")
PARSER = MarkdownIt("commonmark").enable("table")


class Tags(html.parser.HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def write(capsys):
    """Return what the command prints in a format."""

    def run(logdir: pathlib.Path, form: str, *options: str) -> str:
        assert cli.main(["findings", str(logdir), "--format", form, *options]) == 0
        return capsys.readouterr().out

    return run


def test_json_has_what_python_gets(trainings_logdir, write):
    content = json.loads(write(trainings_logdir, "json"), parse_constant=pytest.fail)
    assert content["schema"] == 1 and content["warnings"] == []
    found = {(f["run"], f["kind"], f["node"], f["text"]) for f in content["findings"]}
    in_python = tb_gradgraph.findings(trainings_logdir)
    assert found == {(f.run, f.kind, f.node, f.text) for f in in_python}
    by_run = {training["run"]: training for training in content["trainings"]}
    assert {run: one["healthy"] for run, one in by_run.items()} == {
        "healthy": True,
        "blind": True,
        "idle": False,
        "rooted": False,
    }
    assert {one["recorded_steps"] for one in by_run.values()} == {STEPS}
    assert not by_run["blind"]["has_values"] and by_run["healthy"]["has_values"]


def test_the_page_about_the_schema_names_every_field(trainings_logdir, write):
    content = json.loads(write(trainings_logdir, "json"))
    fields = {*content, *content["trainings"][0], *content["findings"][0]}
    assert {name for name in fields if f"| `{name}` |" not in SCHEMA} == set()


def test_json_spells_what_is_not_finite():
    from tb_gradgraph.commands.show.finding_json import as_json
    from tb_gradgraph.diagnose import Course, RunFinding
    from tb_gradgraph.health import Training

    numbers = ((0, 1.5), (1, math.nan), (2, math.inf), (3, -math.inf))
    finding = RunFinding(kind="loss_rising", severity="warning", text="", numbers=numbers)
    content = json.loads(as_json([Training(Course("r", "t", {}, []), [finding])], ["w"]))
    assert content["findings"][0]["numbers"] == [
        *([0, 1.5], [1, "NaN"], [2, "Infinity"], [3, "-Infinity"])
    ]
    assert content["trainings"][0]["first_step"] is None and content["warnings"] == ["w"]


# As the runner of GitHub's actions reads a line.
COMMAND = re.compile(r"::(?P<name>[\w-]+)(?: (?P<properties>.*?))?::(?P<text>.*)")


def read_command(line: str) -> tuple[str, dict[str, str], str]:
    found = COMMAND.fullmatch(line)
    assert found, line
    pairs = (pair.split("=", 1) for pair in found["properties"].split(","))
    properties = {name: value for name, value in pairs}
    back = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}
    read = {
        name: re.sub("%(?:0D|0A|3A|2C|25)", lambda m: back[m[0]], v)
        for name, v in properties.items()
    }
    return found["name"], read, found["text"].replace("%25", "%")


def test_annotations_name_file_and_line(trainings_logdir, write):
    commands = [read_command(line) for line in write(trainings_logdir, "github").splitlines()]
    (name, properties, text), *_ = commands
    (finding, *_) = tb_gradgraph.findings(trainings_logdir, run="rooted")
    assert name == "error" and finding.text in text
    assert f"{properties['file']}:{properties['line']} in forward" == finding.source
    assert [name for name, _, _ in commands] == ["error", "warning", "notice", "notice"]


def test_hostile_names_give_no_annotation_of_their_own(hostile_logdir, write):
    lines = write(hostile_logdir, "github").splitlines()
    ((name, properties, text),) = map(read_command, lines)
    assert name == "warning" and properties.keys() == {"title"}
    assert "%25, **x**" in text and "%25" in properties["title"]


def test_hostile_names_do_nothing_in_markdown(hostile_logdir, write):
    page = Tags(PARSER.render(write(hostile_logdir, "md")))
    assert page.tags <= {"h3", "p", "code", "ol", "ul", "li", "strong", "em", "br", "hr"}
    assert "<script>alert(1)</script>" in page.text and "<img src=x" in page.text
    assert "**x**" in page.text and "[l](http:" in page.text


def test_markdown_says_what_text_says(trainings_logdir, write):
    page = Tags(PARSER.render(write(trainings_logdir, "md")))
    for finding in tb_gradgraph.findings(trainings_logdir):
        assert finding.kind in page.text and finding.text in page.text


@pytest.mark.parametrize(
    "text", [HOSTILE, "1. a", "- a", "# a", "---", "=", "*", "`", "a_b_c _d_", "|"]
)
def test_escaped_text_is_its_letters_and_nothing_else(text):
    shown = "".join(c if c.isprintable() else "?" for c in text)
    page = Tags(PARSER.render(plain_markdown(text)))
    assert (page.tags, page.text.strip().replace("\u200b", "")) == ({"p"}, shown.strip())
    row = f"| a | b |\n|---|---|\n| {plain_markdown(text)} | {code_markdown(text, in_table=True)} |"
    page = Tags(PARSER.render(row))
    assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert page.text.replace("\u200b", "").split() == ["a", "b", *shown.split(), *shown.split()]
