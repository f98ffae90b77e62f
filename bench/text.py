"""Numbers as text, and a table of texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Table:
    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""

    def markdown(self) -> str:
        rule = "|".join("---" if k == 0 else "---:" for k in range(len(self.head)))
        lines = [f"| {' | '.join(row)} |" for row in [self.head, *self.rows]]
        lines.insert(1, f"|{rule}|")
        return "\n".join([f"## {self.title}", "", *([self.note, ""] if self.note else []), *lines, ""])


def seconds(value: float) -> str:
    """Three digits: 0.00115, 1.10, 10,500."""
    if not np.isfinite(value):
        return "–"
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:#.3g}"


def times(slow: float, fast: float) -> str:
    """A ratio with two digits."""
    ratio = float(f"{slow / fast:.2g}")
    return f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:g}×"


def exponent(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "–"
