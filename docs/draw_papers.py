"""Write the claims, their verdicts and the figures of the papers into reproduction.md.

Usage: python docs/draw_papers.py OUT [FULL], with the folder of `reluflow reproduce all --out OUT`. Where that run is a
quick one, FULL is the folder of a full run of the claims with pictures, and these are taken from there: those that its
results.json lists, or else those that the quick run has drawn too.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE, PICTURES = HERE / "reproduction.md", HERE / "reproduction"
BEGIN, END = "<!-- written by draw_papers.py -->", "<!-- end -->"
LINE = 118
EARLIER = " The pictures are of full runs of their claims, at an earlier commit."

Record = dict[str, Any]


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2) or not (Path(arguments[0]) / "results.json").is_file():
        sys.stderr.write(f"draw_papers.py: OUT must be the folder of a run with results.json, found {arguments}\n")
        return 2
    out, pictures = Path(arguments[0]), Path(arguments[-1])
    record = json.loads((out / "results.json").read_text(encoding="utf-8"))
    if record["interrupted"] or record["counts"]["failed"]:
        sys.stderr.write("draw_papers.py: the run must be whole and without failed claims\n")
        return 2
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir()
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{_body(record, pictures, out)}\n{END}{after}", encoding="utf-8")
    return 0


def _body(record: Record, pictures: Path, out: Path) -> str:
    counts = ", ".join(f"{number} {verdict}" for verdict, number in record["counts"].items() if number)
    size = "quick" if record["quick"] else "full"
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    roots = ", ".join(f"{number} {verdict}" for verdict, number in record["roots"].items())
    said = _wrapped(
        f"Of a {size} run with seed {record['seed']}: {counts}; without those that show one fault again: {roots}."
        f" Made with {versions}.{'' if pictures == out else EARLIER}"
    )
    parts = [f"## The claims\n\n{said}"]
    parts += [_table(paper, name, record["claims"]) for paper, name in record["papers"].items()]
    for verdict, title in (("differs", "Where a paper and the mathematics differ"), ("misprint", "Misprints")):
        parts.append(f"## {title}")
        parts += [_reason(claim) for claim in record["claims"] if claim["verdict"] == verdict]
    remarks = [claim for claim in record["claims"] if claim["verdict"] == "holds" and claim["reason"]]
    if remarks:
        parts.append("## Remarks on claims that hold")
        parts += [_reason(claim) for claim in remarks]
    if any(claim["quick"] for claim in record["claims"]):
        parts.append("## What a quick run changes")
        parts += [_wrapped(f"- `{c['id']}`: {_plain(c['quick'])}") for c in record["claims"] if c["quick"]]
    parts.append("## The figures")
    claims = [{**claim, "figures": _figures(claim, pictures)} for claim in record["claims"]]
    for paper, name in record["papers"].items():
        shown = [claim for claim in claims if claim["paper"] == paper and claim["figures"]]
        parts.append(f"### Figures of {name}")
        parts += [_pictures(claim, pictures) for claim in shown if _is_figure(claim)]
    return "\n\n".join(parts)


def _figures(claim: Record, folder: Path) -> list[Record]:
    """Return the figures that a claim has in the folder's own results, where it has some, or else those it has here."""
    results = folder / "results.json"
    listed = json.loads(results.read_text(encoding="utf-8"))["claims"] if results.is_file() else []
    found = [other["figures"] for other in listed if other["id"] == claim["id"]]
    return [*found, claim["figures"]][0]


def _is_figure(claim: Record) -> bool:
    """Whether a claim redoes a figure or table of its paper; the others are in the report."""
    return any(re.search(r"Fig|Table", row) for row in claim["rows"])


def _table(paper: str, name: str, claims: list[Record]) -> str:
    rows = [
        f"| `{claim['id']}` | {claim['source']} | {_plain(claim['title'])} | {claim['verdict']} |"
        for claim in claims
        if claim["paper"] == paper
    ]
    return "\n".join([f"### {name}\n", "| id | place | claim | verdict |", "|---|---|---|---|", *rows])


def _reason(claim: Record) -> str:
    text = claim["reason"] or claim["note"]
    return _wrapped(f"- `{claim['id']}`, {claim['source']}: {_plain(text)}")


def _pictures(claim: Record, out: Path) -> str:
    lines = [_wrapped(f"**{claim['source']}.** {_plain(claim['statement'])} Verdict: {claim['verdict']}.")]
    for figure in claim["figures"]:
        name = f"{claim['id']}-{figure['file']}"
        shutil.copyfile(out / claim["id"] / figure["file"], PICTURES / name)
        lines.append(f"![{_plain(figure['caption'])}](reproduction/{name})")
    return "\n\n".join(lines)


def _plain(text: str) -> str:
    """Escape what Markdown would read as a table, a formula, emphasis or a link."""
    return re.sub(r"([|$*_\[\]<])", r"\\\1", " ".join(text.split()))


def _wrapped(text: str) -> str:
    """Break a paragraph into lines; those of a list item after the first are indented."""
    indent = "  " if text.startswith("- ") else ""
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) + 1 > LINE:
            lines.append(indent)
        lines[-1] += word if not lines[-1].strip() else f" {word}"
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
