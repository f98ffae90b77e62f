"""From the options of `reluflow run` to what is to be run: a new run, or one that was cut short."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._validation import invalid, real
from ..datasets import Dataset
from ..flow import Solution, Stop, load
from ..networks import Network
from . import _data
from ._files import RUN

CHECKPOINT = "checkpoint.npz"
# A run that ended in one of these ways has more to go.
UNFINISHED = ("running", "interrupted", "reached_seconds")
_SETTINGS = ("loss", "reduction", "weight_decay", "rtol", "atol", "on_branch", "max_events")
# What may stand beside --resume; the rest is that of the run.
_WITH_RESUME = {"resume", "until", "threads", "checkpoint_seconds", "euler", "figures", "quiet"}
# A year between two checkpoints is as good as none.
_LONGEST = 3e7


@dataclass(frozen=True)
class RunRequest:
    """Everything `reluflow run` was asked for, already checked."""

    data: Dataset
    start: Network | Solution
    until: Stop
    settings: dict[str, Any]
    threads: int | None
    out: Path | None
    checkpoint_seconds: float
    with_descent: bool
    with_figures: bool
    quiet: bool
    command: dict[str, Any]


def build(options: dict[str, Any], given: set[str]) -> RunRequest:
    """Check the options; `given` are those that stand on the command line.

    Raises
    ------
    ValueError
        An option that is wrong or missing, or that does not go with `--resume`.
    """
    command = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    return (_begun if options["resume"] is None else _resumed)(options, given, command)


def _begun(options: dict[str, Any], _: set[str], command: dict[str, Any]) -> RunRequest:
    for name in ("data", "until"):
        if options[name] is None:
            raise invalid(f"--{name}", "be given, or else --resume", "neither")
    out = options["out"]
    if out is not None and (out / CHECKPOINT).exists():
        expected = f"name a folder without the {CHECKPOINT} of a run that was cut short: --resume goes on with it"
        raise invalid("--out", expected, repr(str(out)))
    answers = _data.Answers.of(options)
    data = _data.load(options["data"], answers, seed=options["seed"])
    start = Network.init(
        options["width"],
        data.d,
        scale=options["scale"],
        balanced=not options["unbalanced"],
        leak=options["leak"],
        seed=options["seed"],
    )
    settings = {name: options[name] for name in _SETTINGS if name != "atol"} | {"atol": None}
    return _request(options, command, data, start, Stop.parse(options["until"]), settings, options["out"])


def _resumed(options: dict[str, Any], given: set[str], command: dict[str, Any]) -> RunRequest:
    other = sorted(given - _WITH_RESUME)
    if other:
        raise invalid(f"--{other[0].replace('_', '-')}", "be left out with --resume", "both")
    part = part_in(options["resume"])
    if options["until"] is None and part.status not in UNFINISHED:
        found = f"one that has ended: {part.status}"
        raise invalid("--resume", "name the folder of a run that was cut short, or come with --until", found)
    used = part.settings
    settings = {name: getattr(used, name) for name in _SETTINGS}
    until = used.until if options["until"] is None else Stop.parse(options["until"])
    return _request(options, command, part.data, part, until, settings, options["resume"])


def part_in(folder: Path) -> Solution:
    """Return what there is of a run that was cut short: its last checkpoint, or what it wrote when it was stopped.

    Raises
    ------
    ValueError
        The folder holds no run, or a damaged one.
    """
    paths = [folder / name for name in (CHECKPOINT, RUN)]
    there = [path for path in paths if path.is_file()]
    if not there:
        raise invalid("--resume", f"name a folder with {CHECKPOINT} or {RUN}", repr(str(folder)))
    part = load(there[0])
    if not isinstance(part, Solution):
        expected = "name the folder of a run of two layers and one output (others go on with rf.integrate)"
        raise invalid("--resume", expected, f"a {type(part).__name__} in {str(folder)!r}")
    return part


def _request(
    options: dict[str, Any],
    command: dict[str, Any],
    data: Dataset,
    start: Network | Solution,
    until: Stop,
    settings: dict[str, Any],
    out: Path | None,
) -> RunRequest:
    seconds = real(options["checkpoint_seconds"], "--checkpoint-seconds", "be a number of at least 0")
    if seconds < 0:
        raise invalid("--checkpoint-seconds", "be a number of at least 0", repr(seconds))
    return RunRequest(
        data=data,
        start=start,
        until=until,
        settings=settings,
        threads=options["threads"],
        out=out,
        checkpoint_seconds=min(seconds, _LONGEST) if seconds else math.inf,
        with_descent=options["euler"],
        with_figures=options["figures"],
        quiet=options["quiet"],
        command=command,
    )


def left_of(until: Stop, max_events: int | None, part: Solution) -> tuple[Stop, int | None]:
    """Return the stop and the bound of events for what is left: a run counts the events from its own start.

    Raises
    ------
    ValueError
        The part has as many events already.
    """
    done = len(part.events)
    for name, bound in (("Stop.events", until.events), ("max_events", max_events)):
        if bound is not None and bound <= done:
            raise invalid(name, f"be above the {done} events that the run has had", bound)
    events = None if until.events is None else until.events - done
    return replace(until, events=events), None if max_events is None else max_events - done
