"""The claims of [BPF] Boursier, Pillaud-Vivien & Flammarion 2022: orthogonal inputs and the squared loss.

What is stated here is taken from the abstract, from the authors' published code for the figures, and from the account
of the results in [CEL]. Constants and rates of the theorems that none of them quotes are not checked.
"""

from __future__ import annotations

from .._claim import Claim
from . import _alignment, _interpolators, _stages

CLAIMS: tuple[Claim, ...] = (*_alignment.CLAIMS, *_stages.CLAIMS, *_interpolators.CLAIMS)
