"""The third part of the battery: more nets and domains, written without a look at the rules."""

from __future__ import annotations

from tests.diagnose.battery.case import Case
from tests.diagnose.battery.third_part import (
    density_faults,
    sequence_faults,
    sound_domains,
    sound_optimizers,
    sound_sequences,
    tuning_faults,
    vision_faults,
)

CASES: tuple[Case, ...] = (
    *sequence_faults.CASES,
    *vision_faults.CASES,
    *density_faults.CASES,
    *tuning_faults.CASES,
    *sound_sequences.CASES,
    *sound_domains.CASES,
    *sound_optimizers.CASES,
)
