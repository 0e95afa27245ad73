"""The second half of the battery: other nets, written without a look at the rules."""

from __future__ import annotations

from tests.diagnose.battery.case import Case
from tests.diagnose.battery.second_half import (
    faults_of_experts,
    faults_of_games,
    faults_of_generators,
    faults_of_phrases,
    faults_of_pictures,
    faults_of_points,
    healthy_generators,
    healthy_phrases,
    healthy_pictures,
    healthy_points,
)

CASES: tuple[Case, ...] = (
    *faults_of_pictures.CASES,
    *faults_of_generators.CASES,
    *faults_of_phrases.CASES,
    *faults_of_experts.CASES,
    *faults_of_points.CASES,
    *faults_of_games.CASES,
    *healthy_pictures.CASES,
    *healthy_generators.CASES,
    *healthy_phrases.CASES,
    *healthy_points.CASES,
)
