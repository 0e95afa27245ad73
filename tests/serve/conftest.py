"""One log directory, served by both of TensorBoard's loaders with default flags."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import struct
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.patience import wait_until
from tests.serve.gan_log import write_gan
from tests.serve.logs import LONG_STEPS, write_logs
from tests.serve.training_log import Training, train, write_training

LOADED_SECONDS = 60


@dataclasses.dataclass(frozen=True)
class Reply:
    """One answer, as it came."""

    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)

    def frame(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Read a binary frame by the letter of http_api.md."""
        (length,) = struct.unpack_from("<I", self.content)
        assert (length + 4) % 8 == 0
        header = json.loads(self.content[4 : 4 + length])
        offset, arrays = 4 + length, {}
        for entry in header.pop("arrays"):
            count = int(np.prod(entry["shape"]))
            array = np.frombuffer(self.content, entry["dtype"], count, offset)
            arrays[entry["name"]] = array.reshape(entry["shape"])
            offset += -(-array.nbytes // 8) * 8
        assert offset == len(self.content)
        return header, arrays


class Client:
    """Asks one TensorBoard."""

    def __init__(self, address: str) -> None:
        self._address = address

    def get(self, path: str, plugin: str = "gradgraph", method: str = "GET", **query: Any) -> Reply:
        text = f"?{urllib.parse.urlencode(query)}" if query else ""
        return self.fetch(f"data/plugin/{plugin}/{path}{text}", method)

    def fetch(self, path: str, method: str = "GET") -> Reply:
        url = self._address + path
        try:
            answer = urllib.request.urlopen(urllib.request.Request(url, method=method))
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return Reply(answer.status, dict(answer.headers), answer.read())

    def runs(self) -> dict[str, dict[str, Any]]:
        """Return runs by name, their tags by name."""
        runs = self.get("runs").json()["runs"]
        return {
            run["run"]: run | {"tags": {tag["tag"]: tag for tag in run["tags"]}} for run in runs
        }

    def wait(self) -> Client:
        """Wait until TensorBoard has read everything."""

        def is_loaded() -> bool:
            runs = self.runs()
            steps = runs.get("long", {}).get("tags", {}).get("net", {}).get("steps", ())
            return len(runs) == 10 and len(steps) == LONG_STEPS

        assert wait_until(is_loaded, LOADED_SECONDS, every_s=0.5), self.runs().keys()
        return self


@pytest.fixture(scope="session")
def training() -> Training:
    return train()


@pytest.fixture(scope="session")
def serve_root(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return tmp_path_factory.mktemp("serve")


@pytest.fixture(scope="session")
def gan(serve_root: pathlib.Path) -> Mapping[tuple[int, str], float]:
    """The norm of each gradient that an optimizer of the run ``gan`` saw, by step and parameter."""
    return write_gan(serve_root / "gan")


@pytest.fixture(scope="session")
def logs(
    serve_root: pathlib.Path, training: Training, gan: Mapping[tuple[int, str], float]
) -> pathlib.Path:
    root = serve_root
    write_logs(root)
    write_training(root / "training", training)
    return root


@pytest.fixture(scope="session")
def clients(logs: pathlib.Path, tensorboard_server) -> dict[str, Client]:
    """Both loaders: ``rust``, TensorBoard's data server, and ``python``."""
    addresses = {
        name: tensorboard_server(logs, load_fast=name == "rust") for name in ("rust", "python")
    }
    return {name: Client(address).wait() for name, address in addresses.items()}


@pytest.fixture(params=["rust", "python"])
def client(request: pytest.FixtureRequest, clients: dict[str, Client]) -> Client:
    return clients[request.param]
