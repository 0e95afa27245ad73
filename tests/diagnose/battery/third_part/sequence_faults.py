"""Faults in trainings of sequences: translation, waves, state spaces, gates, spelling."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Watch
from tests.diagnose.battery.third_part.collect import Cases, adam, fit, sgd
from tests.diagnose.battery.third_part.sequence_nets import (
    Gated,
    Speller,
    StateSpace,
    Translator,
    Wave,
    counting,
    padded,
    spell,
    tones,
    translate,
    walks,
)

CASES = Cases()


@CASES.add("translation: an empty sentence", "nonfinite_value", "*softmax*", 12)
def empty_sentence(watch: Watch) -> None:
    torch.manual_seed(301)
    model = Translator()

    def loss_of(step: int) -> Tensor:
        source, target = padded(), counting()
        if step == 12:
            source[3] = 0
        return F.cross_entropy(model(source, target).flatten(0, 1), target.flatten())

    fit(watch, model, adam(model), loss_of, steps=20)


@CASES.add("translation: mean over no token", "nonfinite_value", "*div*", 9)
def mean_over_no_token(watch: Watch) -> None:
    torch.manual_seed(302)
    model = Translator()

    def loss_of(step: int) -> Tensor:
        source = counting()
        each = F.cross_entropy(model(source, source).transpose(1, 2), source, reduction="none")
        counted = (source > (100 if step == 9 else 3)).float()
        return (each * counted).sum() / counted.sum()

    fit(watch, model, adam(model), loss_of, steps=20)


@CASES.add("translation: the memory is detached", "no_gradient", "encoder* source_embed*")
def memory_detached(watch: Watch) -> None:
    torch.manual_seed(303)
    model = Translator()

    def loss_of(step: int) -> Tensor:
        source = padded()
        memory, state = model.encode(source)
        logits = model.decode(memory.detach(), state.detach(), source, source == 0)
        return F.cross_entropy(logits.flatten(0, 1), source.flatten(), ignore_index=0)

    fit(watch, model, adam(model), loss_of)


@CASES.add("translation: a vocabulary far too large", "unused_rows", "source_embed*")
def vocabulary_too_large(watch: Watch) -> None:
    torch.manual_seed(304)
    model = Translator(vocabulary=600)
    fit(watch, model, adam(model), lambda step: translate(model, padded()), steps=50)


@CASES.add(
    "translation: scores 4000 times too large", "attention_collapsed saturated", "*softmax*", 0
)
def scores_too_large(watch: Watch) -> None:
    torch.manual_seed(305)
    model = Translator(scale=4000.0)
    fit(watch, model, adam(model), lambda step: translate(model, padded()))


@CASES.add("translation: lr 300 times too high", "large_update loss_rising loss_oscillating")
def translation_lr(watch: Watch) -> None:
    torch.manual_seed(306)
    model = Translator()
    fit(watch, model, adam(model, 1.0), lambda step: translate(model, padded()), steps=40)


@CASES.add("wave: softmax before the loss", "softmax_twice", "*softmax*")
def softmax_before_loss(watch: Watch) -> None:
    torch.manual_seed(307)
    model = Wave()

    def loss_of(step: int) -> Tensor:
        wave = tones()
        chances = F.softmax(model(wave[:, :-1]), 1)
        return F.cross_entropy(chances, wave[:, 1:])

    fit(watch, model, adam(model), loss_of)


class ListedWave(Wave):
    def __init__(self) -> None:
        super().__init__()
        layers = list(self.layers)
        del self.layers
        self.layers = layers  # a plain list


@CASES.add("wave: layers in a plain list", "unregistered not_optimized")
def plain_list(watch: Watch) -> None:
    torch.manual_seed(308)
    model = ListedWave()

    def loss_of(step: int) -> Tensor:
        wave = tones()
        return F.cross_entropy(model(wave[:, :-1]), wave[:, 1:])

    fit(watch, model, adam(model), loss_of)


@CASES.add(
    "wave: the last units never fire", "dead_units zero_gradient zero_origin", "*relu* post*"
)
def dead_post(watch: Watch) -> None:
    torch.manual_seed(309)
    model = Wave()
    nn.init.constant_(model.post.bias, -12.0)

    def loss_of(step: int) -> Tensor:
        wave = tones()
        return F.cross_entropy(model(wave[:, :-1]), wave[:, 1:])

    fit(watch, model, adam(model), loss_of)


@CASES.add("wave: an lr schedule by epochs run by steps", "small_update no_update")
def schedule_by_steps(watch: Watch) -> None:
    torch.manual_seed(310)
    model = Wave()
    optimizer = adam(model)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)

    def loss_of(step: int) -> Tensor:
        wave = tones(4, 20)
        return F.cross_entropy(model(wave[:, :-1]), wave[:, 1:])

    fit(watch, model, optimizer, loss_of, steps=60, schedule=schedule)


def integrals(rows: int, length: int) -> tuple[Tensor, Tensor]:
    x = torch.randn(rows, length)
    return x, x[:, 0]


@CASES.add("state space: the state grows", "exploding", "cell*", 0)
def state_grows(watch: Watch) -> None:
    torch.manual_seed(311)
    model = StateSpace(decay=1.5)

    def loss_of(step: int) -> Tensor:
        x, target = integrals(16, 30)
        return F.mse_loss(model(x), target)

    fit(watch, model, sgd(model, 1e-12), loss_of, steps=20)


@CASES.add("state space: the state forgets", "vanishing", "cell*", 0)
def state_forgets(watch: Watch) -> None:
    torch.manual_seed(312)
    model = StateSpace(decay=0.1)

    def loss_of(step: int) -> Tensor:
        x, target = integrals(16, 30)
        return F.mse_loss(model(x), target)

    fit(watch, model, sgd(model, 0.01), loss_of, steps=20)


class Timed(nn.Module):
    """A state that decays by the time between two events."""

    def __init__(self) -> None:
        super().__init__()
        self.rate, self.into = nn.Parameter(torch.full((8,), 0.1)), nn.Linear(1, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x: Tensor, gaps: Tensor) -> Tensor:
        state = x.new_zeros(len(x), 8)
        for moment, gap in zip(x.unbind(1), gaps.unbind(1)):
            state = state * torch.exp(-self.rate * gap[:, None]) + self.into(moment[:, None])
        return self.out(state)[:, 0]


@CASES.add("state space: a gap of the wrong sign", "nonfinite_value", "*exp* *Exp*", 15)
def gap_of_wrong_sign(watch: Watch) -> None:
    torch.manual_seed(313)
    model = Timed()

    def loss_of(step: int) -> Tensor:
        x, gaps = torch.randn(16, 8), torch.rand(16, 8)
        if step == 15:
            gaps[2, 4] = -5000.0
        return F.mse_loss(model(x, gaps), x.sum(1))

    fit(watch, model, adam(model), loss_of, steps=24)


@CASES.add("gates: begun saturated", "saturated", "cell* *sigmoid* *tanh*", 0)
def gates_saturated(watch: Watch) -> None:
    torch.manual_seed(314)
    model = Gated(std=15.0)

    def loss_of(step: int) -> Tensor:
        x, labels = walks()
        return F.cross_entropy(model(x)[0], labels)

    fit(watch, model, adam(model), loss_of)


@CASES.add("gates: gradients never cleared", "not_zeroed")
def never_cleared(watch: Watch) -> None:
    torch.manual_seed(315)
    model = Gated()
    optimizer = sgd(model, 0.05)
    watch(model, optimizer=optimizer)
    for _ in range(30):
        x, labels = walks()
        F.cross_entropy(model(x)[0], labels).backward()
        optimizer.step()


@CASES.add("gates: clipped to nearly nothing", "clipped small_update")
def clipped_to_nothing(watch: Watch) -> None:
    torch.manual_seed(316)
    model = Gated()

    def loss_of(step: int) -> Tensor:
        x, labels = walks()
        return F.cross_entropy(model(x)[0], labels)

    fit(watch, model, sgd(model, 0.1), loss_of, clip=1e-4)


@CASES.add("speller: positions of a checkpoint hold NaN", "nonfinite_weight", "position*", 0)
def nan_in_checkpoint(watch: Watch) -> None:
    torch.manual_seed(317)
    model = Speller()
    with torch.no_grad():
        model.position[4, 3] = torch.nan
    fit(watch, model, adam(model), lambda step: spell(model, counting()), steps=20)


@CASES.add("speller: attention scale multiplied", "attention_collapsed saturated", "*softmax*", 0)
def scale_multiplied(watch: Watch) -> None:
    torch.manual_seed(318)
    model = Speller(scale=500.0)
    fit(watch, model, adam(model), lambda step: spell(model, counting()))


@CASES.add("speller: weights in bfloat16 alone", "lost_update")
def bfloat_alone(watch: Watch) -> None:
    torch.manual_seed(319)
    model = Speller().bfloat16()

    def loss_of(step: int) -> Tensor:
        tokens = counting()
        return F.cross_entropy(model(tokens[:, :-1]).float().flatten(0, 1), tokens[:, 1:].flatten())

    fit(watch, model, adam(model, 1e-6), loss_of)


@CASES.add("speller: decay taken for a rate", "weight_drift")
def decay_too_high(watch: Watch) -> None:
    torch.manual_seed(320)
    model = Speller()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=12.0)
    fit(watch, model, optimizer, lambda step: spell(model, counting()), steps=50)
