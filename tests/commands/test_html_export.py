"""One file of a run: what is in it, how large it may be, and what is left out then."""

from __future__ import annotations

import base64
import gzip
import json
import pathlib
import re
import struct

import pytest
import torch

import tb_gradgraph
from tb_gradgraph.commands import main as cli
from tb_gradgraph.commands.export import ExportError
from tb_gradgraph.commands.html_export import export_html
from tb_gradgraph.commands.html_page import key_of, make_page

STEPS = 40


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("log")
    model = torch.nn.Linear(3, 2)
    for run in ("one", "two"):
        with tb_gradgraph.SummaryWriter(str(directory / run)) as writer:
            for step in range(STEPS):
                writer.add_grad_graph(model, torch.randn(4, 3), step, tag="net")
                writer.add_scalar("loss", step / 2, step)
            writer.add_grad_graph(model, torch.randn(4, 3), tag="other")
    return directory


def read_answers(page: bytes) -> dict[str, bytes]:
    """Read a file by the letter of what its script does."""
    found = re.search(rb'id="answers" data-name="answers">([\w+/=]+)<', page)
    assert found is not None
    pack = gzip.decompress(base64.b64decode(found.group(1)))
    (length,) = struct.unpack_from("<I", pack)
    places = json.loads(pack[4 : 4 + length])["answers"]
    return {key: pack[4 + length + at :][:size] for key, (at, size) in places.items()}


def list_runs(answers: dict[str, bytes]) -> list[dict]:
    return json.loads(answers["runs"])["runs"]


def test_answers_are_those_of_the_routes(logdir):
    answers = read_answers(export_html(logdir, "one"))
    (run,) = list_runs(answers)
    assert (run["run"], [tag["tag"] for tag in run["tags"]]) == ("one", ["net", "other"])
    assert run["tags"][0]["steps"] == list(range(STEPS)) and run["warnings"] == []
    place = {"run": "one", "tag": "net", "step": 7, "backward_pass": 0, "stage": "backward"}
    assert b'"step":7,' in answers[key_of("step", place)]
    assert json.loads(answers[key_of("findings", place)])["findings"] == []
    assert json.loads(answers[key_of("scalars", {"run": "one"})])["tags"] == ["loss"]


def test_a_run_of_its_own_directory_has_the_name_of_that(logdir):
    answers = read_answers(export_html(logdir / "one"))
    (run,) = list_runs(answers)
    assert (run["run"], [tag["tag"] for tag in run["tags"]]) == ("one", ["net", "other"])
    assert answers == read_answers(export_html(logdir, "one"))


def test_one_tag_is_all_that_is_in_it(logdir):
    (run,) = list_runs(read_answers(export_html(logdir, "one", "other")))
    assert [tag["tag"] for tag in run["tags"]] == ["other"]


def test_a_run_that_is_too_large_loses_steps_and_says_so(logdir):
    whole = sum(map(len, read_answers(export_html(logdir, "one", "net")).values()))
    answers = read_answers(export_html(logdir, "one", "net", most_bytes=whole // 3))
    assert sum(map(len, answers.values())) <= whole // 3
    (run,) = list_runs(answers)
    steps = run["tags"][0]["steps"]
    assert steps[0] == 0 and steps[-1] == STEPS - 1 and 2 < len(steps) <= STEPS // 2
    assert run["warnings"][0].startswith(f"This file holds one of every {steps[1]} recorded steps")
    place = {"run": "one", "tag": "net", "step": steps[1], "backward_pass": 0, "stage": "backward"}
    assert key_of("step", place) in answers


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A training with values and numbers of the step."""
    directory = tmp_path_factory.mktemp("watched")
    model = torch.nn.Linear(3, 2)
    with tb_gradgraph.SummaryWriter(str(directory / "one")) as writer:
        writer.watch(model, every_n_steps=1, values=True, tag="net")
        for _ in range(STEPS):
            model.zero_grad()
            model(torch.randn(4, 3)).square().mean().backward()
    return directory


def test_values_and_numbers_of_the_step_are_in_it(watched):
    answers = read_answers(export_html(watched, "one"))
    (run,) = list_runs(answers)
    (tag,) = run["tags"]
    assert tag["has_values"] == [True] * STEPS
    graph = {"run": "one", "tag": "net", "hash": tag["hashes"][0], "stage": "forward"}
    place = {"run": "one", "tag": "net", "step": 7, "backward_pass": 0, "stage": "forward"}
    assert b'"stage":"forward"' in answers[key_of("step", place)]
    assert key_of("node", {**graph, "row": 0}) in answers
    series = {**graph, "statistic": "l2_norm", "from": 0, "count": 1}
    assert key_of("series", series) in answers
    flow = {**graph, "statistic": "l2_norm", "backward_pass": 0, "every": 1, "from": 0}
    assert key_of("flow", flow) in answers
    told = json.loads(answers[key_of("quantities", {"run": "one", "tag": "net"})])
    assert told["quantities"]["loss"]["steps"] == list(range(STEPS))


def test_with_steps_left_out_the_kept_ones_have_their_values(watched):
    whole = sum(map(len, read_answers(export_html(watched, "one")).values()))
    answers = read_answers(export_html(watched, "one", most_bytes=whole // 3))
    (run,) = list_runs(answers)
    (tag,) = run["tags"]
    assert len(tag["steps"]) <= STEPS // 2 and all(tag["has_values"])
    steps = {
        int(part[5:])
        for key in answers
        if key.startswith("step\n") and "stage=forward" in key
        for part in key.split("\n")
        if part.startswith("step=")
    }
    assert steps == set(tag["steps"])


def test_what_cannot_fit_is_an_error(logdir):
    with pytest.raises(ExportError, match="expected two steps to fit in 1,000 bytes"):
        export_html(logdir, "one", "net", most_bytes=1000)


def test_a_missing_run_tag_or_file_is_said(logdir, tmp_path, capsys):
    assert cli.main(["export", "--html", str(logdir), str(tmp_path / "a.html")]) == 1
    assert "expected --run with one of one, two" in capsys.readouterr().err
    command = ["export", "--html", str(logdir), str(tmp_path / "a.html"), "--run", "one"]
    assert cli.main([*command, "--tag", "none"]) == 1
    assert "expected --tag with one of net, other; got 'none'" in capsys.readouterr().err
    assert cli.main(["export", "--html", str(logdir), "--run", "one"]) == 2
    assert "expected a file to write" in capsys.readouterr().err
    assert cli.main(command) == 0
    assert "a.html: " in capsys.readouterr().out


def test_nothing_of_the_user_ends_a_script():
    name = "</script><b>&\"'"
    page = make_page(name, {key_of("runs", {}): b"{}", key_of("step", {"run": name}): b"</script>"})
    text = page.decode()
    assert name not in text and "<title>&lt;/script&gt;&lt;b&gt;&amp;&quot;&#x27;</title>" in text
    assert text.count("</script>") == text.count("<script ") + text.count("<script>")
