"""The claims of [CEL] Chistikov, Englert & Lazić 2023: one neuron learnt by many, from correlated inputs."""

from __future__ import annotations

from .._claim import Claim
from . import _endings, _experiments, _phase_one, _phase_two

CLAIMS: tuple[Claim, ...] = (*_phase_one.CLAIMS, *_phase_two.CLAIMS, *_endings.CLAIMS, *_experiments.CLAIMS)
