"""Wrong requests: a status of 4xx and a sentence, and nothing of the disk."""

from __future__ import annotations

import pytest

from tests.record.samples import make_graph
from tests.serve.conftest import Client

HASH = make_graph().hash
RUN = {"run": "mixed"}
RETAINED = {"run": "retained", "tag": "net", "step": 7, "backward_pass": 1}
TAG = RUN | {"tag": "net"}
STEP = TAG | {"step": 0}
SERIES = TAG | {"hash": HASH, "statistic": "mean"}
NODE = TAG | {"hash": HASH, "row": 0}


@pytest.mark.parametrize(
    ("route", "query", "status", "sentence"),
    [
        ("graph", {}, 400, "Expected the parameter 'run', got none."),
        (
            "graph",
            {"run": "none", "hash": HASH},
            404,
            "Expected a run with recorded graphs, got 'none'.",
        ),
        ("graph", {"run": "", "hash": HASH}, 404, "Expected a run with recorded graphs, got ''."),
        ("graph", RUN, 400, "Expected the parameter 'hash', got none."),
        ("graph", RUN | {"hash": "../../etc"}, 404, "Expected the hash of a graph of the run"),
        ("step", RUN, 400, "Expected the parameter 'step', got none."),
        ("step", RUN | {"step": 0}, 400, "Expected the parameter 'tag', got none."),
        ("step", STEP | {"tag": "x"}, 404, "Expected a tag of run 'mixed', got 'x'."),
        ("run_findings", RUN, 400, "Expected the parameter 'tag', got none."),
        ("run_findings", RUN | {"tag": "x"}, 404, "Expected a tag of run 'mixed', got 'x'."),
        ("facts", RUN, 400, "Expected the parameter 'tag', got none."),
        ("facts", RUN | {"tag": "x"}, 404, "Expected a tag of run 'mixed', got 'x'."),
        ("step", TAG, 400, "Expected the parameter 'step', got none."),
        ("step", TAG | {"step": ""}, 400, "Expected the parameter 'step', got none."),
        ("step", TAG | {"step": 99}, 404, "Expected a recorded step of the tag, got step 99"),
        ("step", STEP | {"backward_pass": 9}, 404, "got step 0, backward pass 9."),
        ("step", STEP | {"backward_pass": -1}, 400, "Expected 'backward_pass' not to be negative"),
        *(
            ("step", TAG | {"step": text}, 400, "Expected 'step' to be a whole number, got")
            for text in ("one", "1.5", "1e3", "--1", "1_0", "٣", "0x10", " 1", "9" * 30)
        ),
        ("step", TAG | {"step": 2**63}, 400, "Expected 'step' to fit in 64 bits"),
        ("series", TAG | {"hash": HASH}, 400, "Expected the parameter 'statistic', got none."),
        (
            "series",
            SERIES | {"statistic": "x"},
            400,
            "Expected 'statistic' to be one of l2_norm, mean",
        ),
        ("series", SERIES | {"hash": "x"}, 404, "Expected a graph of the tag, got hash 'x'."),
        ("series", SERIES | {"from": 6}, 400, "Expected 'from' to be at most 5, got 6."),
        ("series", SERIES | {"from": -1}, 400, "Expected 'from' not to be negative, got -1."),
        ("series", SERIES | {"count": "x"}, 400, "Expected 'count' to be a whole number"),
        ("series", SERIES | {"stage": "x"}, 404, "Expected a graph of the tag"),
        ("node", TAG | {"hash": HASH}, 400, "Expected the parameter 'row', got none."),
        ("node", NODE | {"row": 9}, 404, "Expected a row below 9, got 9."),
        ("node", NODE | {"row": -1}, 404, "Expected a row below 9, got -1."),
        ("node", TAG | {"key": "x:0"}, 404, "the key of a row of the tag's graphs, got 'x:0'."),
        ("node", NODE | {"hash": "x"}, 404, "Expected the hash of a graph of the run"),
        ("tensor", RETAINED, 400, "Expected the parameter 'row', got none."),
        ("tensor", RETAINED | {"row": 0}, 400, "Expected the parameter 'what', got none."),
        (
            "tensor",
            RETAINED | {"row": 0, "what": "grad"},
            400,
            "Expected 'what' to be one of gradient, value; got 'grad'.",
        ),
        ("tensor", RETAINED | {"row": 9, "what": "value"}, 404, "Expected a row below 9, got 9."),
        ("tensor", RETAINED | {"row": -1, "what": "value"}, 404, "a row below 9, got -1."),
        (
            "tensor",
            RETAINED | {"row": 2, "what": "value"},
            404,
            "Expected a row whose value was kept whole, got row 2",
        ),
        (
            "tensor",
            RETAINED | {"row": 5, "what": "gradient"},
            400,
            "Expected a tensor of at most 4194304 elements, got one of 4194305.",
        ),
        (
            "tensor",
            RETAINED | {"row": 0, "what": "value", "stage": "clipped"},
            404,
            "got step 7, backward pass 1, stage clipped.",
        ),
        ("findings", STEP | {"step": 5}, 404, "Expected a recorded step of the tag"),
        ("export", TAG, 400, "Expected the parameter 'format', got none."),
        (
            "export",
            TAG | {"format": "exe"},
            400,
            "Expected 'format' to be one of json, csv, csv-quantities, dot",
        ),
        (
            "export",
            TAG | {"format": "csv", "step": 9},
            404,
            "Expected hash, step, backward pass and stage",
        ),
        (
            "graph",
            {"run": "x" * 3000},
            400,
            "Expected 'run' to have at most 2048 characters, got 3000.",
        ),
    ],
)
def test_wrong_request_gets_a_sentence(
    client: Client, route: str, query: dict, status: int, sentence: str
):
    reply = client.get(route, **query)
    assert reply.status == status
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.json().keys() == {"error"}
    assert sentence in reply.json()["error"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_other_methods_are_refused(client: Client, method: str):
    assert client.get("runs", method=method).status == 405


@pytest.mark.parametrize(
    "name",
    [
        *("", "none.js", "../plugin.py", "..%2fplugin.py", "%2e%2e/plugin.py", "....//plugin.py"),
        *("/etc/passwd", "//etc/passwd", "C:%5Cwindows", "index.js/", "index.js%00"),
    ],
)
def test_no_path_leads_out_of_the_panels_files(client: Client, name: str):
    assert client.get(f"static/{name}").status == 404
