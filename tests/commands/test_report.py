"""``tb-gradgraph report``: a page that can be sent to anybody, with or without paths."""

from __future__ import annotations

import html.parser
import pathlib
import re
import xml.etree.ElementTree

import pytest
from markdown_it import MarkdownIt

import tb_gradgraph
from tb_gradgraph.commands import main as cli
from tb_gradgraph.commands.page.redacted import without_places
from tb_gradgraph.commands.page.small_picture import small_picture

PARSER = MarkdownIt("commonmark").enable("table")


class Page(html.parser.HTMLParser):
    """The tags, attributes and text of a page. Tags that are not closed in order are an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def write(tmp_path, capsys):
    """Return the page that the command writes."""

    def run(logdir: pathlib.Path, name: str = "report.html", *options: str) -> str:
        assert cli.main(["report", str(logdir), str(tmp_path / name), *options]) == 0
        assert capsys.readouterr().out.startswith(f"{tmp_path / name}: ")
        return (tmp_path / name).read_text(encoding="utf-8")

    return run


def test_a_page_has_sentences_pictures_and_numbers(trainings_logdir, write):
    page = Page(write(trainings_logdir))
    found = tb_gradgraph.findings(trainings_logdir)
    assert page.tags.count("article") == len(found) and page.tags.count("ol") == 1
    for finding in found:
        assert page.text.count(finding.text) == 2  # among the sentences, and at its place
    assert page.tags.count("svg") >= 3 and "NaN or infinity" in page.text
    assert "Gradient norms by module (applied)" in page.text
    assert "No values were recorded" in page.text


def test_a_page_loads_and_runs_nothing(trainings_logdir, hostile_logdir, write):
    for logdir in (trainings_logdir, hostile_logdir):
        page = Page(write(logdir))
        assert {"script", "img", "link", "a", "iframe"}.isdisjoint(page.tags)
        names = {name for name, _ in page.attributes}
        assert names.isdisjoint({"src", "href", "style"}) and not any(
            n.startswith("on") for n in names
        )
        assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    assert "<script>alert(1)</script>" in page.text  # as letters


def test_a_healthy_training_is_called_healthy(trainings_logdir, write):
    page = Page(write(trainings_logdir / "healthy"))
    assert "Healthy: there is no error and no warning in 20 recorded steps." in page.text
    assert page.tags.count("svg") == 1
    told = write(trainings_logdir / "healthy", "report.md")
    assert "Healthy: there is no error and no warning in 20 recorded steps." in told


def test_markdown_has_the_same_with_sparklines(trainings_logdir, write):
    told = write(trainings_logdir, "report.md")
    page = Page(PARSER.render(told))
    for finding in tb_gradgraph.findings(trainings_logdir):
        assert page.text.count(finding.text) == 2
    assert re.search("[▁▂▃▄▅▆▇█]{10}", page.text) and page.tags.count("table") >= 8
    assert "nan" in page.text and "0.003" in page.text


def test_the_numbers_in_markdown_are_those_around_the_first_bad_step(trainings_logdir, write):
    told = write(trainings_logdir / "rooted", "report.md")
    steps, values = re.findall(r"^\| (?:step|value) \| (.*) \|$", told, re.MULTILINE)[:2]
    assert steps.split(" | ") == [str(step) for step in range(4, 20)]
    assert [value == "nan" for value in values.split(" | ")] == [
        step >= 12 for step in range(4, 20)
    ]


def test_hostile_names_do_nothing_in_markdown(hostile_logdir, write):
    page = Page(PARSER.render(write(hostile_logdir, "report.md")))
    assert {"script", "img", "a"}.isdisjoint(page.tags)
    assert "<script>alert(1)</script>" in page.text


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_redacted_there_are_no_paths_and_no_lines(trainings_logdir, write, name):
    (finding, *_) = tb_gradgraph.findings(trainings_logdir, run="rooted")
    file, _, line = finding.source.partition(".py:")
    whole, left = write(trainings_logdir, name), write(trainings_logdir, name, "--redact")
    assert f"{pathlib.Path(file).name}.py:{line}" in whole and "rooted" in whole
    for word in (
        ".py",
        "in forward",
        "rooted",
        "blind",
        str(trainings_logdir),
        str(pathlib.Path.cwd()),
    ):
        assert word not in left
    assert finding.kind in left and finding.node in left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("It began at relu (net.py:12 in forward): 3 NaN.", "It began at relu: 3 NaN."),
        ("cut at /home/me/my net.py:3 in <lambda>, so", "cut at (left out)"),
        ("at <stdin>:1 in f and C:\\x\\y.py:5", "at (left out) and (left out)"),
        ("kept in /data/me/batch.pt and ~/a/b.", "kept in (left out) and (left out)"),
        ("blocks.0.lin/addmm and /SqrtBackward0.0 from 1:2", None),
        ("grad_norm/backward was 1e-3/s", None),
    ],
)
def test_what_looks_like_a_line_or_a_path_is_left_out(text, left):
    found = without_places(text, ["/home/me/my net.py:3 in <lambda>, so"])
    assert found == (text if left is None else left)


def test_pages_of_some_trainings(trainings_logdir, write):
    told = write(trainings_logdir, "report.md", "--run", "idle", "--tag", "net")
    assert re.findall("^### Run `(.*?)`", told, re.MULTILINE) == ["idle"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["report.txt"], "expected a file that ends in .html or .md"),
        (["report.md", "--run", "none"], "run 'none' was not recorded"),
    ],
)
def test_bad_input_is_one_sentence_and_no_file(trainings_logdir, tmp_path, capsys, arguments, told):
    name, *options = arguments
    assert cli.main(["report", str(trainings_logdir), str(tmp_path / name), *options]) == 2
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


NUMBERS = {
    "one": [(5, 2.0)],
    "none is finite": [(0, float("nan")), (1, float("inf"))],
    "zeros": [(0, 0.0), (1, 0.0)],
    "decades": [(0, 1e-30), (1, 0.0), (2, 1e30), (3, float("-inf"))],
    "huge": [(0, -1.7e308), (1, 1.7e308)],
    "least": [(0, 5e-324), (1, 1.7e308)],
    "long": [(step, step % 7.0) for step in range(5000)],
}


@pytest.mark.parametrize("series", NUMBERS.values(), ids=NUMBERS)
def test_a_picture_is_xml_and_nothing_leaves_it(series):
    picture = small_picture("a<b>&\"'", series, (0, 2))
    assert len(picture) < 9000 and "nan" not in picture
    root = xml.etree.ElementTree.fromstring(picture)
    for place in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", picture):
        assert 0 <= float(place[0]) <= 420 and 0 <= float(place[1]) <= 132
    bad = any(number - number != 0 for _, number in series)
    assert ("cross" in {element.get("class") for element in root}) == bad


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_it_without_a_complaint(trainings_logdir, write, tmp_path, page, scheme):
    write(trainings_logdir)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 400, "height": 700})
    page.goto((tmp_path / "report.html").as_uri())
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 27)"}[scheme]
    assert page.locator("svg .cross").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
