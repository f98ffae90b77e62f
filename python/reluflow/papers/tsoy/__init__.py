"""The claims of [TK] Tsoy & Konstantinov 2024: clouds of two classes in an XOR-like pattern.

What is stated here is taken from the abstract and from the authors' published code for the figures; the theorems
themselves, with their constants, are not checked.
"""

from __future__ import annotations

from .._claim import Claim
from . import _early, _four, _many

CLAIMS: tuple[Claim, ...] = (*_early.CLAIMS, *_four.CLAIMS, *_many.CLAIMS)
