"""What TensorBoard does with us at start-up, and what it must not be made to do."""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import types

import pytest
from tensorboard.plugins import base_plugin

from tb_gradgraph.serve import plugin
from tb_gradgraph.serve.loader import GradGraphLoader
from tb_gradgraph.serve.plugin import GradGraphPlugin


class UnusedProvider:
    """A data provider that must not be asked."""

    def __getattr__(self, name: str):
        raise AssertionError(f"asked for {name} at start-up")


CONTEXT = base_plugin.TBContext(data_provider=UnusedProvider())


def test_loading_asks_nothing_of_the_data_provider():
    loaded = GradGraphLoader().load(CONTEXT)
    assert isinstance(loaded, GradGraphPlugin)
    assert not loaded.is_active()
    assert loaded.data_plugin_names() == ("gradgraph",)
    metadata = loaded.frontend_metadata()
    assert metadata.tab_name == "Grad Graph"
    assert {"/static/*", "/plugin/gradgraph/static/*"} <= loaded.get_plugin_apps().keys()


def test_failing_import_is_logged_once_and_leaves_tensorboard_running(monkeypatch, caplog):
    monkeypatch.delitem(sys.modules, plugin.__name__)
    monkeypatch.setitem(sys.modules, "tb_gradgraph.serve.runs.reader", None)
    with caplog.at_level(logging.WARNING):
        assert GradGraphLoader().load(CONTEXT) is None
    (record,) = caplog.records
    assert "the Grad Graph tab is missing" in record.message
    assert "ModuleNotFoundError" in record.message


def test_all_samples_are_kept_unless_the_user_says_otherwise():
    for given, expected in (({}, 0), ({"gradgraph": 7}, 7)):
        flags = argparse.Namespace(samples_per_plugin=given)
        GradGraphLoader().fix_flags(flags)
        assert flags.samples_per_plugin["gradgraph"] == expected


@pytest.mark.parametrize(
    "flags", [argparse.Namespace(), types.SimpleNamespace(samples_per_plugin="")]
)
def test_flags_of_other_versions_are_left_alone(flags):
    GradGraphLoader().fix_flags(flags)


def test_loader_module_imports_next_to_nothing():
    script = """
import sys
from tensorboard.plugins import base_plugin
before = set(sys.modules)
import tb_gradgraph.serve.loader
print(*(set(sys.modules) - before))
"""
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(finished.stdout.split())
    ours = {name for name in loaded if name.startswith("tb_gradgraph")}
    assert ours <= {
        *("tb_gradgraph", "tb_gradgraph.errors", "tb_gradgraph.version"),
        *("tb_gradgraph.serve", "tb_gradgraph.serve.loader"),
    }
    assert {name.partition(".")[0] for name in loaded - ours} <= sys.stdlib_module_names


def test_plugin_answers_where_torch_is_missing(logs):
    script = """
import sys
sys.modules["torch"] = None  # every import of it fails
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins import base_plugin
from werkzeug.test import Client
from tb_gradgraph.serve.loader import GradGraphLoader

multiplexer = EventMultiplexer()
multiplexer.AddRun(sys.argv[1] + "/mixed", "mixed")
multiplexer.Reload()
provider = MultiplexerDataProvider(multiplexer, sys.argv[1])
plugin = GradGraphLoader().load(base_plugin.TBContext(data_provider=provider))
for path, app in plugin.get_plugin_apps().items():
    reply = Client(app).get(path + "?run=mixed&tag=net&step=0&hash=&format=csv")
    assert reply.status_code in (200, 400, 404), path
    if path in ("/runs", "/step", "/findings"):
        assert reply.status_code == 200, path
print("answered")
"""
    finished = subprocess.run(
        [sys.executable, "-c", script, str(logs)], capture_output=True, text=True
    )
    assert finished.stdout == "answered\n", finished.stderr
