"""Train foreign models a few steps from random weights: nothing may look wrong in them.

``python -m tests.compat.healthy_models [PATTERN]``. Needs timm, torchvision and transformers
(requirements-models.txt, and the extra "integrations"). No weights are downloaded. It exits with
status 1 if there is an error, or more than one warning in thirty models.
"""

from __future__ import annotations

import fnmatch
import importlib
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.functional import cross_entropy

import tb_gradgraph

STEPS = 4
MODELS = 30  # among so many one warning is allowed

OF_TIMM = (
    *("resnet18", "resnet26d", "mobilenetv3_small_050", "mobilenetv2_035", "efficientnet_b0"),
    *("vit_tiny_patch16_224", "convnext_atto", "convnextv2_atto", "mixer_s32_224"),
    *("gmlp_ti16_224", "resmlp_12_224", "poolformer_s12", "xcit_nano_12_p16_224"),
    *("cait_xxs24_224", "swin_tiny_patch4_window7_224", "regnetx_002", "regnety_002"),
    *("densenet121", "ghostnet_050", "hardcorenas_a", "lcnet_035", "mnasnet_small", "rexnet_100"),
    *("edgenext_xx_small", "mobilevit_xxs", "levit_128s", "coat_lite_tiny", "pit_ti_224"),
    *("visformer_tiny", "vgg11_bn", "resnetv2_50", "skresnet18", "repvgg_a0", "starnet_s1"),
)
_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 100}
_WIDE = {**_SMALL, "intermediate_size": 64}
_GROUPED = {**_WIDE, "num_key_value_heads": 1}
#: Models of transformers by class, with the class of their configuration and what it gets.
OF_TRANSFORMERS: dict[str, tuple[str, dict[str, Any]]] = {
    "BertForMaskedLM": ("BertConfig", _WIDE),
    "GPT2LMHeadModel": ("GPT2Config", {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 100}),
    "LlamaForCausalLM": ("LlamaConfig", _WIDE),
    "MistralForCausalLM": ("MistralConfig", _GROUPED),
    "Qwen2ForCausalLM": ("Qwen2Config", _GROUPED),
    "MixtralForCausalLM": ("MixtralConfig", {**_GROUPED, "num_local_experts": 4}),
    "RobertaForMaskedLM": ("RobertaConfig", {**_WIDE, "max_position_embeddings": 64}),
    "ElectraForMaskedLM": ("ElectraConfig", {**_WIDE, "embedding_size": 32}),
}

Loss = Callable[[], torch.Tensor]


def models(pattern: str) -> Iterator[tuple[str, torch.nn.Module, Loss]]:
    """Yield the models whose name is like a pattern, each with a loss."""
    for name in OF_TIMM:
        torch.manual_seed(0)
        if fnmatch.fnmatch(name, pattern):
            yield name, *_of_timm(name)
    for name in OF_TRANSFORMERS:
        torch.manual_seed(0)
        if fnmatch.fnmatch(name, pattern):
            yield name, *_of_transformers(name)


def _of_timm(name: str) -> tuple[torch.nn.Module, Loss]:
    model = importlib.import_module("timm").create_model(name, num_classes=10)
    images = torch.randn(4, *model.default_cfg["input_size"])
    return model, lambda: cross_entropy(model(images), torch.arange(4))


def _of_transformers(name: str) -> tuple[torch.nn.Module, Loss]:
    library = importlib.import_module("transformers")
    kind, options = OF_TRANSFORMERS[name]
    model = getattr(library, name)(getattr(library, kind)(**options))
    tokens = torch.randint(3, 100, (4, 12))
    return model, lambda: model(input_ids=tokens, labels=tokens).loss


def train(model: torch.nn.Module, loss: Loss, logdir: str) -> None:
    """Train a few steps, with every one recorded."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with tb_gradgraph.SummaryWriter(logdir) as writer:
        writer.watch(model.train(), optimizer=optimizer, every_n_steps=1, level="op", values=True)
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()


def main() -> int:
    """Print a line for each model; return the exit status."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    count, errors, alarms = 0, 0, 0
    for name, model, loss in models(sys.argv[1] if len(sys.argv) > 1 else "*"):
        with tempfile.TemporaryDirectory() as logdir:
            train(model, loss, logdir)
            found = [one for one in tb_gradgraph.findings(logdir) if one.severity != "note"]
        count += 1
        errors += any(one.severity == "error" for one in found)
        alarms += bool(found)
        told = "; ".join(f"{one.severity} {one.kind} at {one.node}: {one.text}" for one in found)
        print(f"{name}: {told or 'nothing'}", flush=True)
    print(f"{count} models, {alarms} with a warning, {errors} with an error")
    return int(errors > 0 or alarms * MODELS > count)


if __name__ == "__main__":
    sys.exit(main())
