"""The papers, reproduced: every figure, table and checkable statement as a claim that is run and judged.

[WP] is Wang & Pilanci 2022, [PL] Phuong & Lampert 2021, [LLWA] Lyu, Li, Wang & Arora 2021, [VSS] Vardi, Shamir & Srebro
2022. Of [BPF] Boursier, Pillaud-Vivien & Flammarion 2022, [TK] Tsoy & Konstantinov 2024 and [CEL] Chistikov, Englert &
Lazić 2023 the main statements and experiments are run.
"""

from __future__ import annotations

from ._claim import PAPERS, Claim, Context, Number, Outcome
from ._registry import claims
from ._reproduction import Reproduction, Update
from ._result import Result
from ._run import reproduce

__all__ = ["PAPERS", "Claim", "Context", "Number", "Outcome", "Reproduction", "Result", "Update", "claims", "reproduce"]
