"""What a notebook shows for a result: a small table, with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_CELL = ' style="text-align:left;padding:0.1em 0.9em 0.1em 0;vertical-align:top"'


def card(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """Return a title and a table of names and values as HTML."""
    lines = "".join(
        f"<tr><th{_CELL}>{escape(name)}</th><td{_CELL}>{escape(str(value))}</td></tr>" for name, value in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table></div>"


def grid(title: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a title and a table with a head as HTML."""
    head = "".join(f"<th{_CELL}>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td{_CELL}>{escape(str(v))}</td>" for v in row) + "</tr>" for row in rows)
    return (
        f"<div><strong>{escape(title)}</strong><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
