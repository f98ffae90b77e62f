"""The parts of the report: a claim, its numbers, figures and tables as HTML."""

from __future__ import annotations

import base64
import re
from html import escape
from pathlib import Path

from ._claim import Claim, Number, Value
from ._execute import FIGURE_DPI
from ._result import Picture, Result, Sheet

_TINY = 1e-4  # errors below this are read as a power of ten, with two digits
_PNG_WIDTH = slice(16, 20)  # where a PNG says how wide it is
SCREEN_DPI = 96  # of a pixel of a page, by the definition of CSS
BROAD = 500  # pixels from which a figure has several panels, and is moved by the finger on a phone
_SIGNS = {"equal": "", "at_most": "≤ ", "at_least": "≥ ", "shown": ""}
_SOURCES = {"paper": "paper", "print": "print", "exact": "derived"}
_MARKS = {True: ("holds", "✓", "as expected"), False: ("failed", "✗", "not as expected"), None: ("open", "–", "shown")}


def badge(verdict: str, text: str = "") -> str:
    """Return a verdict as a small coloured word."""
    return f'<span class="badge {verdict}">{escape(text or verdict)}</span>'


def prose(text: str) -> str:
    """Return a text as paragraphs; `words between back ticks` are code."""
    parts = [re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(part)) for part in re.split(r"\n\s*\n", text.strip())]
    return "".join(f"<p>{part}</p>" for part in parts if part)


def article(claim: Claim, result: Result, folder: Path) -> str:
    """Return a claim with everything that was found; its pictures are read from the folder."""
    parts = [
        f'<article id="{claim.id}"><header><h3>{escape(claim.source)}: {escape(claim.title)}</h3>'
        f"{badge(result.verdict)}</header>",
        prose(claim.statement),
        _why(claim, result),
        *(_figure(picture, folder) for picture in result.figures),
        _numbers(result.numbers),
        *(_sheet(sheet) for sheet in result.tables),
        f"<h4>What was run</h4>{prose(result.ran)}" if result.ran else "",
        "".join(f'<p class="soft">{escape(text)}</p>' for text in result.warnings),
        f'<p class="rows"><code>reluflow reproduce {claim.id}</code> · accounts for {escape(", ".join(claim.rows))} · '
        f'<a href="#contents">contents</a></p></article>',
    ]
    return "\n".join(part for part in parts if part)


def _why(claim: Claim, result: Result) -> str:
    """Return why a claim fails, differs or is open, what a quick run means, and the note."""
    texts = [result.message, claim.reason, claim.quick if result.key.quick else "", result.note]
    kept = [text for number, text in enumerate(texts) if text.strip() and text not in texts[:number]]
    if not kept:
        return ""
    return f'<div class="why {result.verdict}">{"".join(prose(text) for text in kept)}</div>'


def _figure(picture: Picture, folder: Path) -> str:
    content = (folder / picture.file).read_bytes()
    width = int.from_bytes(content[_PNG_WIDTH]) * SCREEN_DPI // FIGURE_DPI
    data = base64.b64encode(content).decode()
    caption = escape(picture.caption)
    kind = "broad" if width > BROAD else "slim"
    return (
        f'<figure><img class="{kind}" alt="{caption}" width="{width}" src="data:image/png;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _numbers(numbers: tuple[Number, ...]) -> str:
    if not numbers:
        return ""
    rows = "".join(_number(number) for number in numbers)
    head = "<tr><th>number</th><th>computed</th><th>expected</th><th><span aria-label='as expected'>ok</span></th></tr>"
    table = f'<table class="numbers"><thead>{head}</thead><tbody>{rows}</tbody></table>'
    return f'<h4>Numbers</h4><div class="wide">{table}</div>'


def _number(number: Number) -> str:
    kind, mark, words = _MARKS[number.ok]
    return (
        f"<tr><td>{escape(number.name)}</td><td>{escape(shown(number.value))}</td><td>{_expected(number)}</td>"
        f'<td class="mark {kind}"><span role="img" aria-label="{words}">{mark}</span></td></tr>'
    )


def _expected(number: Number) -> str:
    if number.expected is None:
        return ""
    spread = f" ± {shown(float(f'{number.tolerance:.2g}'))}" if number.tolerance and number.relation == "equal" else ""
    text = _SIGNS[number.relation] + shown(number.expected) + spread
    control = "" if number.control is None else f"; control {shown(number.control)}"
    control += "" if number.wrong is None else f"; not with {shown(number.wrong)}"
    return f'{escape(text)} <span class="soft">{_SOURCES[number.source]}{escape(control)}</span>'


def shown(value: Value) -> str:
    """Return a value as a person writes it: seven digits, yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        text = f"{value:.7g}" if value == 0 or abs(value) >= _TINY else f"{value:.2g}"
        return re.sub(r"e([+-])0?(\d)", r"e\1\2", text).replace("e+", "e")
    return value


def _sheet(sheet: Sheet) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in sheet.columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in sheet.rows)
    caption = f"<caption>{escape(sheet.caption or sheet.name.replace('_', ' '))}</caption>"
    table = f'<table class="sheet">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="wide">{table}</div>'
