"""Faults in trainings on sentences: translation with attention, and decoders."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.second_half.fitting import Phrases, fit
from tests.diagnose.battery.second_half.nets_of_phrases import (
    GatedDecoder,
    Translator,
    next_token_loss,
    translation_loss,
)


def sentence_of_padding_alone(watch: Watch) -> None:
    torch.manual_seed(41)
    data, model = Phrases(), Translator()

    def loss_of(step: int) -> Tensor:
        source, padding = data.padded()
        if step == 23:  # an empty line of the corpus
            source[4], padding[4] = 0, True
        return translation_loss(model, source, padding)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=5e-3), loss_of, steps=30, clip=1.0)


def clipped_before_the_backward(watch: Watch) -> None:
    torch.manual_seed(42)
    data, model = Phrases(), Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    watch(model, optimizer=optimizer)
    for _ in range(40):
        source, padding = data.padded()
        loss = translation_loss(model, source, padding)
        optimizer.zero_grad()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        loss.backward()
        optimizer.step()


class CarelessTranslator(Translator):
    def forward(self, source: Tensor, before: Tensor, padding: Tensor) -> Tensor:
        memory, state = self.encode(source)
        return self.decode(memory.detach(), state.data, before, padding)


def encoder_cut_off(watch: Watch) -> None:
    torch.manual_seed(43)
    data, model = Phrases(), CarelessTranslator()

    def loss_of(step: int) -> Tensor:
        return translation_loss(model, *data.padded())

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=5e-3), loss_of, clip=1.0)


def attention_without_scale(watch: Watch) -> None:
    torch.manual_seed(44)
    data, model = Phrases(), Translator(scale=1.0)
    for linear in (model.attend.query, model.attend.key):
        nn.init.normal_(linear.weight, std=4.0)

    def loss_of(step: int) -> Tensor:
        return translation_loss(model, *data.padded())

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of, clip=1.0)


def tokens_folded_to_a_few(watch: Watch) -> None:
    torch.manual_seed(54)
    data, model = Phrases(words=96), GatedDecoder(words=96)

    def loss_of(step: int) -> Tensor:
        tokens = data.batch() % 8  # the bucket count of another table
        logits = model(tokens[:, :-1])[..., :8]
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    model.lm_head.weight = nn.Parameter(0.1 * torch.randn(96, 24))
    fit(watch, model, torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0), loss_of)


def clipped_to_almost_nothing(watch: Watch) -> None:
    torch.manual_seed(55)
    data, model = Phrases(), GatedDecoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    fit(watch, model, optimizer, lambda step: next_token_loss(model, data.batch()), clip=1e-3)


def rate_far_too_small(watch: Watch) -> None:
    torch.manual_seed(56)
    data, model = Phrases(), GatedDecoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-9)
    fit(watch, model, optimizer, lambda step: next_token_loss(model, data.batch()))


def schedule_stepped_for_the_optimizer(watch: Watch) -> None:
    torch.manual_seed(57)
    data, model = Phrases(), GatedDecoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
    watch(model, optimizer=optimizer)
    for _ in range(40):
        optimizer.zero_grad()
        loss = next_token_loss(model, data.batch())
        loss.backward()
        scheduler.step()


CASES = (
    Case(
        "translator: a sentence of padding alone",
        sentence_of_padding_alone,
        ("nonfinite_value", "nonfinite_origin"),
        ("*softmax*", "*attention*"),
        23,
        "seq2seq",
    ),
    Case(
        "translator: clipped before the backward",
        clipped_before_the_backward,
        ("clip_before_backward",),
        (),
        0,
        "seq2seq",
    ),
    Case(
        "translator: the encoder is cut off",
        encoder_cut_off,
        ("no_gradient",),
        ("encoder*", "source*"),
        0,
        "seq2seq",
    ),
    Case(
        "translator: attention without scale",
        attention_without_scale,
        ("attention_collapsed", "saturated"),
        ("*softmax*", "attend*", "*attention*"),
        0,
        "seq2seq",
    ),
    Case(
        "decoder: tokens folded to a few",
        tokens_folded_to_a_few,
        ("unused_rows",),
        ("embed*", "lm_head*"),
        None,
        "transformer",
    ),
    Case(
        "decoder: clipped to almost nothing",
        clipped_to_almost_nothing,
        ("clipped", "small_update"),
        (),
        0,
        "transformer",
    ),
    Case(
        "decoder: rate far too small",
        rate_far_too_small,
        ("small_update", "no_update"),
        (),
        0,
        "transformer",
    ),
    Case(
        "decoder: the schedule stepped for the optimizer",
        schedule_stepped_for_the_optimizer,
        ("never_stepped",),
        (),
        0,
        "transformer",
    ),
)
