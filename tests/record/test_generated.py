"""The checked-in code of the messages is what the generator makes of gradgraph.proto."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.record import generate_proto


@pytest.mark.slow  # installs a generator; only a changed .proto can break it
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the generator has no wheel for it")
def test_generated_code_is_fresh(tmp_path):
    try:
        generate_proto.install_generator()
    except subprocess.CalledProcessError:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip("the generator cannot be installed here")
    generate_proto.generate(tmp_path)
    for name in generate_proto.GENERATED:
        fresh = (tmp_path / name).read_text(encoding="utf-8")
        checked_in = (generate_proto.ROOT / name).read_text(encoding="utf-8")
        assert fresh == checked_in, "run: python -m tests.record.generate_proto"


def test_generated_code_asks_for_no_protobuf_of_its_own_age():
    text = (generate_proto.ROOT / generate_proto.GENERATED[0]).read_text(encoding="utf-8")
    assert "ValidateProtobufRuntimeVersion" not in text
    assert "Protobuf Python Version: 4.25.1" in text
