"""The claims of [LLWA] Lyu, Li, Wang & Arora 2021."""

from __future__ import annotations

from .._claim import Claim
from . import _hinted, _kkt_points, _one_neuron, _phase_one, _phase_three, _phase_two, _symmetric

CLAIMS: tuple[Claim, ...] = (
    *_symmetric.CLAIMS,
    *_phase_one.CLAIMS,
    *_phase_two.CLAIMS,
    *_phase_three.CLAIMS,
    *_hinted.CLAIMS,
    *_one_neuron.CLAIMS,
    *_kkt_points.CLAIMS,
)
