"""Healthy trainings on sequences."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.second_half.fitting import Phrases, fit, warm_up
from tests.diagnose.battery.second_half.nets_of_phrases import (
    Encoder,
    ExpertModel,
    GatedDecoder,
    TemporalNet,
    Translator,
    next_token_loss,
    signals,
    translation_loss,
)


def translator_with_padding(watch: Watch) -> None:
    torch.manual_seed(141)
    data, model = Phrases(), Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_of = lambda step: translation_loss(model, *data.padded())  # noqa: E731
    fit(watch, model, optimizer, loss_of, steps=50, clip=1.0)


class FullTranslator(nn.Module):
    """Torch's own encoder and decoder, with a mask of the future and one of padding."""

    def __init__(self, words: int = 24, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width, padding_idx=0)
        self.position = nn.Embedding(10, width)
        self.core = nn.Transformer(width, 2, 1, 1, 48, 0.0, batch_first=True, norm_first=True)
        self.out = nn.Linear(width, words)

    def forward(self, source: Tensor, before: Tensor, padding: Tensor) -> Tensor:
        places = self.position(torch.arange(source.shape[1]))
        future = self.core.generate_square_subsequent_mask(before.shape[1])
        ignored = torch.zeros(padding.shape).masked_fill(padding, float("-inf"))
        hidden = self.core(
            self.embed(source) + places,
            self.embed(before) + places,
            tgt_mask=future,
            src_key_padding_mask=ignored,
            memory_key_padding_mask=ignored,
        )
        return self.out(hidden)


def transformer_with_two_masks(watch: Watch) -> None:
    torch.manual_seed(142)
    data, model = Phrases(), FullTranslator()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.98))
    loss_of = lambda step: translation_loss(model, *data.padded())  # noqa: E731
    fit(watch, model, optimizer, loss_of, 50, 1.0, warm_up(optimizer, 10))


def decoder_with_accumulation(watch: Watch) -> None:
    torch.manual_seed(143)
    data, model = Phrases(), GatedDecoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.1)
    watch(model, optimizer=optimizer)
    for _ in range(40):
        for _ in range(3):
            loss = next_token_loss(model, data.batch(6)) / 3
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def decoder_of_rare_words(watch: Watch) -> None:
    torch.manual_seed(144)
    data, model = Phrases(words=120), GatedDecoder(words=120, depth=1)
    frequent = (torch.rand(4000).pow(4) * 118).long() + 2

    def loss_of(step: int) -> Tensor:
        tokens = data.batch(16)
        tokens[:, ::2] = frequent[torch.randint(4000, (16, 5))]
        tokens[:, 1::2] = data.follows[tokens[:, ::2] - 2]
        logits = model(tokens[:, ::2])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1::2].flatten())

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    fit(watch, model, optimizer, loss_of, steps=60, clip=1.0)


def experts_with_balance(watch: Watch) -> None:
    torch.manual_seed(145)
    data, model = Phrases(), ExpertModel()

    def loss_of(step: int) -> Tensor:
        loss = next_token_loss(model, data.batch(8))
        return loss + 0.01 * model.ffn.balance

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=3e-3), loss_of)


def adapters_on_a_frozen_base(watch: Watch) -> None:
    torch.manual_seed(146)
    data, model = Phrases(), Encoder()
    model.adapt()
    trained = [p for p in model.parameters() if p.requires_grad]

    def loss_of(step: int) -> Tensor:
        tokens = data.batch(24)
        return F.cross_entropy(model(tokens), tokens[:, 0] % 3)

    optimizer = torch.optim.AdamW(trained, lr=5e-3)
    fit(watch, model, optimizer, loss_of, 60, None, warm_up(optimizer, 5))


def prompt_on_a_frozen_decoder(watch: Watch) -> None:
    torch.manual_seed(147)
    data, base = Phrases(), GatedDecoder(length=14).requires_grad_(False)
    model = nn.Module()
    model.base, model.prompt = base, nn.Parameter(0.02 * torch.randn(4, 24))

    def loss_of(step: int) -> Tensor:
        x = torch.cat([model.prompt.expand(12, 4, 24), base.embed(data.batch() // 6)], 1)
        for layer in base.layers:
            x = layer(x + base.position)
        logits = base.lm_head(base.norm(x[:, 4:]))
        return F.cross_entropy(logits.flatten(0, 1), torch.full((120,), 3))

    fit(watch, model, torch.optim.Adam([model.prompt], lr=0.02), loss_of)


def temporal_convolutions(watch: Watch) -> None:
    torch.manual_seed(148)
    model = TemporalNet()

    def loss_of(step: int) -> Tensor:
        signal, target = signals()
        return F.smooth_l1_loss(model(signal), target)

    fit(watch, model, torch.optim.NAdam(model.parameters(), lr=3e-3), loss_of)


class Transcript(nn.Module):
    def __init__(self, width: int = 16, symbols: int = 6) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, width, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * width, symbols)

    def forward(self, frames: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(frames, lengths, True, enforce_sorted=False)
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.out(hidden).log_softmax(-1).transpose(0, 1)


def transcripts_of_packed_frames(watch: Watch) -> None:
    torch.manual_seed(149)
    model, sounds = Transcript(), torch.randn(6, 8)
    criterion = nn.CTCLoss(zero_infinity=True)

    def loss_of(step: int) -> Tensor:
        text, count = torch.randint(1, 6, (6, 5)), torch.randint(3, 6, (6,))
        frames = sounds[text].repeat_interleave(4, 1) + 0.3 * torch.randn(6, 20, 8)
        count[0] = 5
        return criterion(model(frames, 4 * count), text, 4 * count, count)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-2), loss_of, clip=5.0)


def truncated_through_time(watch: Watch) -> None:
    torch.manual_seed(150)
    cell = nn.GRUCell(2, 20)
    model = nn.ModuleDict({"cell": cell, "readout": nn.Linear(20, 1)})
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    watch(model, optimizer=optimizer)
    for _ in range(12):
        signal, target = signals(length=40)
        state = torch.zeros(8, 20)
        for start in range(0, 40, 10):
            state, loss = state.detach(), torch.zeros(())
            for moment in range(start, start + 10):
                state = cell(signal[:, :, moment], state)
                loss = loss + F.mse_loss(model["readout"](state), target[:, :, moment]) / 10
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()


CASES = (
    Case("translator: padding masked by infinity", translator_with_padding, family="seq2seq"),
    Case("transformer: two masks", transformer_with_two_masks, family="transformer"),
    Case("decoder: accumulation over three", decoder_with_accumulation, family="transformer"),
    Case("decoder: rare words", decoder_of_rare_words, family="transformer"),
    Case("experts: balanced, some idle", experts_with_balance, family="experts"),
    Case("adapters: on a frozen base", adapters_on_a_frozen_base, family="lora"),
    Case("prompt: on a frozen decoder", prompt_on_a_frozen_decoder, family="transformer"),
    Case("temporal: weight norm", temporal_convolutions, family="conv"),
    Case("ctc: packed frames", transcripts_of_packed_frames, family="recurrent"),
    Case("recurrence: truncated through time", truncated_through_time, family="recurrent"),
)
