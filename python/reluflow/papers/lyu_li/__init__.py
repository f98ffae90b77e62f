"""The claims of [LLWA] Lyu, Li, Wang & Arora 2021."""

from __future__ import annotations

from .._claim import Claim
from . import (
    _hinted,
    _kkt_points,
    _landscapes,
    _local,
    _one_neuron,
    _phase_one,
    _phase_three,
    _phase_two,
    _pictures,
    _preliminaries,
    _proof_steps,
    _separable,
    _symmetric,
    _teacher,
)

CLAIMS: tuple[Claim, ...] = (
    *_pictures.CLAIMS,
    *_landscapes.CLAIMS,
    *_teacher.CLAIMS,
    *_symmetric.CLAIMS,
    *_phase_one.CLAIMS,
    *_phase_two.CLAIMS,
    *_phase_three.CLAIMS,
    *_hinted.CLAIMS,
    *_one_neuron.CLAIMS,
    *_preliminaries.CLAIMS,
    *_proof_steps.CLAIMS,
    *_local.CLAIMS,
    *_separable.CLAIMS,
    *_kkt_points.CLAIMS,
)
