"""report.html: one file with everything in it, to be read without a network, on a phone or on a desk."""

from __future__ import annotations

from html import escape

from .._files import atomic_write
from ._claim import PAPERS, Claim
from ._report_parts import article, badge
from ._report_style import STYLE
from ._reproduction import Reproduction
from ._result import VERDICTS, Result
from ._results import versions

NAME = "report.html"
# The contents are open where there is room for them beside the text.
_OPEN_CONTENTS = (
    '<script>if (matchMedia("(min-width: 64rem)").matches)'
    ' document.querySelectorAll("nav details").forEach(part => { part.open = true; });</script>'
)
_MEANINGS = {
    "holds": "what the paper states was found.",
    "misprint": "a printed formula, number or word is wrong; the result stands.",
    "differs": "a stated result or constant is wrong; the reason and the corrected statement are given and checked.",
    "open": "not run, or on data that decide nothing; the reason is given.",
    "failed": "a run ended with an error, or not as it should.",
}


def write_report(done: Reproduction) -> None:
    """Write report.html into the folder of a run."""
    found = {result.id: result for result in done.results}
    claims = [claim for claim in done.claims if claim.id in found]
    papers = {paper: [claim for claim in claims if claim.paper == paper] for paper in PAPERS}
    papers = {paper: listed for paper, listed in papers.items() if listed}
    contents = "".join(_contents(paper, listed, found) for paper, listed in papers.items())
    sections = "".join(_section(paper, listed, found, done) for paper, listed in papers.items())
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The papers, reproduced by reluflow</title><style>{STYLE}</style></head><body>"
        f'<div class="top">{_head(done)}</div>'
        f'<div class="page"><nav id="contents" aria-label="Contents">{contents}</nav>'
        f"<main>{sections}{_foot(done)}</main></div>{_OPEN_CONTENTS}</body></html>\n"
    )
    with atomic_write(done.out / NAME) as file:
        file.write(page.encode())


def _head(done: Reproduction) -> str:
    counts = done.counts
    size = "a quick run" if done.quick else "a full run"
    missing = len(done.claims) - len(done.results)
    stopped = f" The run was interrupted: {missing} claims are missing." if missing else ""
    meanings = "".join(
        f'<li><span class="soft">{badge(verdict, f"{counts[verdict]} {verdict}")} {_MEANINGS[verdict]}</span></li>'
        for verdict in VERDICTS
        if counts[verdict]
    )
    return (
        "<h1>The papers, reproduced</h1><p>Figures, tables and statements of papers on two-layer ReLU networks, run"
        " with the exact gradient flow of reluflow and judged.</p>"
        f'<ul class="counts">{meanings}</ul>'
        f'<p class="soft">{len(done.results)} claims, {size}, seed {done.seed}.{stopped} A number marked'
        " <em>paper</em> is a result of the paper; <em>print</em>, a formula or word as it is printed; one marked"
        " <em>derived</em> is what the mathematics gives and must come out for the run to be believed. A control is"
        " what comes out with a wrong constant, and is not as expected.</p>"
    )


def _contents(paper: str, claims: list[Claim], found: dict[str, Result]) -> str:
    counts = _counts(claims, found)
    links = [f'<a href="#{claim.id}">{escape(claim.source)}: {escape(claim.title)}</a>' for claim in claims]
    badges = [badge(found[claim.id].verdict) for claim in claims]
    rows = "".join(f"<li>{link}{mark}</li>" for link, mark in zip(links, badges, strict=True))
    summary = f'{escape(PAPERS[paper])} <span class="soft">{counts}</span>'
    return f"<details><summary>{summary}</summary><ol>{rows}</ol></details>"


def _section(paper: str, claims: list[Claim], found: dict[str, Result], done: Reproduction) -> str:
    articles = "".join(article(claim, found[claim.id], done.out / claim.id) for claim in claims)
    head = f'<h2>{escape(PAPERS[paper])}</h2><p class="soft">{_counts(claims, found)}</p>'
    return f'<section id="{paper}">{head}{articles}</section>'


def _counts(claims: list[Claim], found: dict[str, Result]) -> str:
    verdicts = [found[claim.id].verdict for claim in claims]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts)


def _foot(done: Reproduction) -> str:
    made = ", ".join(f"{name} {version}" for name, version in versions().items())
    command = (
        "reluflow reproduce all" + (" --quick" if done.quick else "") + (f" --seed {done.seed}" if done.seed else "")
    )
    return f'<p class="soft">Made by <code>{command}</code> with {escape(made)}.</p>'
