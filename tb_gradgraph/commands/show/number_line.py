"""Place numbers between their least and greatest, and draw them as a line of blocks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
NOT_FINITE, ZERO = "×", "·"
#: From this ratio of the greatest to the least number on, the scale is logarithmic.
_DECADES = 100.0
WIDTH = 32

Series = Sequence[tuple[int, float]]  # steps and numbers


@dataclasses.dataclass(frozen=True)
class NumberLine:
    """The range of some numbers, logarithmic if they span decades.

    Attributes:
        low: The least finite number that has a place; NaN if none has.
        high: The greatest one.
        is_log: Whether places are those of the logarithms. Then zero has no place.
    """

    low: float
    high: float
    is_log: bool

    def place(self, number: float) -> float | None:
        """Return where a number is: 0 is the low end, 1 the high end; None if it has no place."""
        if not math.isfinite(number) or (self.is_log and number <= 0):
            return None
        if self.high == self.low:
            return 0.5
        if self.is_log:
            low = math.log(self.low)
            return (math.log(number) - low) / (math.log(self.high) - low)
        return (number / 2 - self.low / 2) / (
            self.high / 2 - self.low / 2
        )  # halves do not overflow

    @property
    def middle(self) -> float:
        """The number in the middle."""
        if self.is_log:
            return math.exp((math.log(self.low) + math.log(self.high)) / 2)
        return self.low / 2 + self.high / 2


def number_line(numbers: Iterable[float]) -> NumberLine:
    """Return the range of numbers; those that are not finite do not count."""
    finite = [number for number in numbers if math.isfinite(number)]
    positive = [number for number in finite if number > 0]
    if not finite:
        return NumberLine(math.nan, math.nan, False)
    low, high = min(finite), max(finite)
    if low >= 0 and positive and high / _DECADES >= min(positive):
        return NumberLine(min(positive), high, True)
    return NumberLine(low, high, False)


def sparkline(numbers: Sequence[float], width: int = WIDTH) -> str:
    """Draw numbers as blocks, at most ``width``, logarithmically if they span decades.

    Of numbers that share a block, the greatest is drawn, or the first that is not finite. NaN and
    infinity are ``×``, zero on a logarithmic scale ``·``.
    """
    line = number_line(numbers)
    return "".join(_block(line, number) for _, number in thinned(list(enumerate(numbers)), width))


def thinned(series: Series, most: int) -> Series:
    """Return at most so many pairs: of each part the greatest, or the first that is not finite."""
    if len(series) <= most:
        return series
    ends = [len(series) * at // most for at in range(most + 1)]
    return [max(series[first:last], key=_weight) for first, last in zip(ends, ends[1:])]


def _weight(pair: tuple[int, float]) -> float:
    return pair[1] if math.isfinite(pair[1]) else math.inf


def tell_range(numbers: Sequence[float]) -> str:
    """Say what a sparkline's ends are: ``0.012 to 3.1e+04, log scale, × not finite``."""
    line = number_line(numbers)
    words = [f"{line.low:.3g}" if line.low == line.high else f"{line.low:.3g} to {line.high:.3g}"]
    if not math.isfinite(line.low):
        words = ["none is finite"]
    if line.is_log:
        words.append("log scale")
        if any(number == 0 for number in numbers):
            words.append(f"{ZERO} zero")
    if math.isfinite(line.low) and not all(map(math.isfinite, numbers)):
        words.append(f"{NOT_FINITE} not finite")
    return ", ".join(words)


def _block(line: NumberLine, number: float) -> str:
    place = line.place(number)
    if place is not None:
        return BLOCKS[min(int(place * len(BLOCKS)), len(BLOCKS) - 1)]
    return ZERO if math.isfinite(number) else NOT_FINITE
