"""`reluflow prove`: prove a saved run, show what is proved, keep the certificate."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from .._validation import invalid
from ..flow import MultiClassSolution, TwoLayerSolution, load
from ..layered import DeepSolution
from ..proof import Proof, prove
from . import _files
from ._progress import ProgressLine
from ._signals import Signals

NOT_PROVED = 1


def execute(path: Path, *, until: float | None, digits: str, out: Path | None, quiet: bool, console: Console) -> int:
    """Prove, print and write; return 0 if everything is proved, 1 if not, 130 or 143 after a signal.

    Raises
    ------
    ValueError
        No such file, not a saved run of two classes, a time outside of it, or a certificate that cannot be written.
    """
    path = _files.saved_run(path)
    if out is not None:
        _files.check_file(out)  # before the proof, which may take long
    number = int(digits) if digits.isdecimal() else digits
    solution = load(path)
    if isinstance(solution, MultiClassSolution):
        raise invalid("RUN", "hold one run", f"a solution of {solution.K} classes in {str(path)!r}")
    if isinstance(solution, DeepSolution):
        raise invalid("RUN", "hold a run of a two-layer network", f"one of a layered network in {str(path)!r}")
    if isinstance(solution, TwoLayerSolution):
        raise invalid("RUN", "hold a run of one output with both layers trained", f"another in {str(path)!r}")
    with Signals() as signals:
        with ProgressLine(console, solution.data.total, solution.reduction, quiet=quiet) as line:

            def follow(t: float, steps: int, events: int) -> bool:
                line.say(f"t = {t:.3e}   {events:,} of {len(solution.events):,} events   {steps:,} steps")
                return signals.came

            proof = prove(solution, until, digits=number, callback=follow)
        if out is not None:
            proof.save(out)
        if not quiet:
            _show(proof, len(solution.events), out, console)
        return signals.exit_code or (0 if proof else NOT_PROVED)


def _show(proof: Proof, claimed: int, out: Path | None, console: Console) -> None:
    say = {"soft_wrap": True, "highlight": False}
    console.print(f"{proof.status}: {proof.message}", **say)  # type: ignore[arg-type]
    if len(proof.events):
        width, margin = proof.events.width.max(), proof.events.margin.min()
        text = f"{len(proof.events):,} of {claimed:,} events, times within {width:.2g}, least margin {margin:.2g}"
        console.print(f"{text}, {len(proof.order_undecided)} pairs in undecided order", **say)  # type: ignore[arg-type]
    console.print(f"state within {proof.bound:.2g} at the end, {proof.steps:,} steps of {proof.digits} digits", **say)  # type: ignore[arg-type]
    if out is not None:
        console.print(f"wrote {out}", **say)  # type: ignore[arg-type]
