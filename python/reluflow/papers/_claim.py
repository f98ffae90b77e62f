"""What a claim of a paper is, and what a run of it gives: plain frozen values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from .._validation import instance, integer, invalid, one_of, optional_module, real

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Value = float | str | bool
T = TypeVar("T")

PAPERS: Mapping[str, str] = {
    "WP": "Wang & Pilanci 2022",
    "PL": "Phuong & Lampert 2021",
    "LLWA": "Lyu, Li, Wang & Arora 2021",
    "VSS": "Vardi, Shamir & Srebro 2022",
    "BPF": "Boursier, Pillaud-Vivien & Flammarion 2022",
    "TK": "Tsoy & Konstantinov 2024",
    "CEL": "Chistikov, Englert & Lazić 2023",
}
RELATIONS = ("equal", "at_most", "at_least", "shown")
SOURCES = ("paper", "print", "exact")
EXPECTED = ("holds", "misprint", "differs", "open")
_ID = re.compile(rf"({'|'.join(PAPERS)})-[A-Za-z0-9][A-Za-z0-9.+-]*")


def _silent(message: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Number:
    """One computed number beside what the paper, or the corrected mathematics, says.

    Attributes
    ----------
    name : str
    value : float, str or bool
        What was computed.
    expected : float, str, bool or None
        What is printed or derived; None only shows the value.
    tolerance : float
        Absolute, at least 0.
    relation : {"equal", "at_most", "at_least", "shown"}
        How value and expected compare: |value − expected| ≤ tolerance, value ≤ expected + tolerance, value ≥ expected −
        tolerance, or not at all.
    source : {"paper", "print", "exact"}
        ``"paper"``: a result as the paper states it. ``"print"``: a formula, number or word as it is printed, on which
        no result rests. ``"exact"``: derived mathematics, without which the run is not to be believed.
    control : float, str, bool or None
        What the value would be with a wrong constant in the formula that is checked, or for data outside the
        statement. It must not compare as expected: a claim whose control does cannot fail, and fails for that.
    wrong : float, str, bool or None
        A wrong constant in the place of what is expected. The value must not compare as expected with it.

    Raises
    ------
    ValueError
        An unknown relation or source, a negative tolerance, a value of another kind than what is expected.
    """

    name: str
    value: Value
    expected: Value | None = None
    tolerance: float = 0.0
    relation: str = "equal"
    source: str = "paper"
    control: Value | None = None
    wrong: Value | None = None

    def __post_init__(self) -> None:
        one_of(self.relation, f"relation of {self.name!r}", RELATIONS)
        one_of(self.source, f"source of {self.name!r}", SOURCES)
        object.__setattr__(self, "tolerance", real(self.tolerance, f"tolerance of {self.name!r}"))
        if self.tolerance < 0:
            raise invalid(f"tolerance of {self.name!r}", "be at least 0", self.tolerance)
        object.__setattr__(self, "value", _plain(self.value, f"value of {self.name!r}"))
        for name in ("control", "wrong"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _plain(getattr(self, name), f"{name} of {self.name!r}"))
        if self.expected is None:
            object.__setattr__(self, "relation", "shown")
            return
        object.__setattr__(self, "expected", _plain(self.expected, f"expected of {self.name!r}"))
        if (type(self.value) is float) != (type(self.expected) is float):
            raise invalid(f"value of {self.name!r}", f"be of the kind of {self.expected!r}", repr(self.value))
        if type(self.value) is not float and self.relation not in ("equal", "shown"):
            raise invalid(f"relation of {self.name!r}", "be 'equal' for text and truth values", repr(self.relation))

    @property
    def ok(self) -> bool | None:
        """Whether the value is as expected; None where it is only shown. A NaN is never as expected."""
        return self._compared(self.value, self.expected)

    @property
    def can_fail(self) -> bool:
        """Whether the control is told from what is expected, and the value from the wrong constant, if there are."""
        told = self.control is None or self._compared(self.control, self.expected) is False
        return told and (self.wrong is None or self._compared(self.value, self.wrong) is False)

    def _compared(self, value: Value, expected: Value | None) -> bool | None:
        if self.relation == "shown" or expected is None:
            return None
        if not isinstance(value, float) or not isinstance(expected, float):
            return value == expected
        if self.relation == "at_most":
            return value <= expected + self.tolerance
        if self.relation == "at_least":
            return value >= expected - self.tolerance
        return value == expected or abs(value - expected) <= self.tolerance


def _plain(value: object, name: str) -> Value:
    """Return the value as a Python bool, str or float."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return float(value)
    raise invalid(name, "be a number, a text or a truth value", f"a value of type {type(value).__name__}")


@dataclass(frozen=True)
class Outcome:
    """What a run of a claim gives.

    Attributes
    ----------
    ran : str
        What was run, in words: data, network, seeds, tolerance.
    numbers : tuple of Number
        At least one that is compared.
    figures : mapping of str to matplotlib.figure.Figure
        By name; the name becomes the file's.
    tables : mapping of str to pandas.DataFrame
    note : str
        The reason or the computation, e.g. why a printed number is wrong.

    Raises
    ------
    ValueError
        No number is compared with anything: such a run could not fail. Or a text is none, or a name fits no file.
    """

    ran: str
    numbers: tuple[Number, ...]
    figures: Mapping[str, Figure] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("ran", "note"):
            instance(getattr(self, name), name, str, "a text")
        object.__setattr__(self, "numbers", tuple(self.numbers))
        if all(number.ok is None for number in self.numbers):
            raise invalid("numbers", "hold one that is compared", f"{len(self.numbers)} that are only shown")
        for name in (*self.figures, *self.tables):
            if not re.fullmatch(r"[\w.+-]+", name):
                raise invalid("names of figures and tables", "be fit for a file", repr(name))


@dataclass(frozen=True)
class Context:
    """How a claim is to be run.

    Attributes
    ----------
    quick : bool
        In about two seconds, instead of up to two minutes.
    seed : int
        Where every draw of the claim starts.
    n_threads : int
    progress : callable
        Takes one short line that says how far the run is.
    mnist : path, optional
        Folder with the IDX files of MNIST, for the claims on it; without it they use scikit-learn's digits and are
        open.

    Examples
    --------
    >>> Context(quick=True).pick(10, 1000)
    10
    """

    quick: bool
    seed: int = 0
    n_threads: int = 1
    progress: Callable[[str], None] = _silent
    mnist: Path | None = None

    def __post_init__(self) -> None:
        integer(self.seed, "seed", least=0)
        integer(self.n_threads, "n_threads")

    def pick(self, quick: T, full: T) -> T:
        """Return the size for a quick run or the one for a full run."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Claim:
    """One figure, table or statement of a paper, and how it is checked.

    Attributes
    ----------
    id : str
        Paper and a short code, such as ``"WP-F4"``.
    paper : str
        A key of `PAPERS`.
    source : str
        Where it stands, such as ``"Figure 4"``.
    title, statement : str
        In our words.
    rows : tuple of str
        The rows of the catalogue of systems, predictions, figures and errors that the claim accounts for.
    run : callable or None
        Takes a `Context` and returns an `Outcome`; None for a claim that is open.
    expected : {"holds", "misprint", "differs", "open"}
    reason : str
        Why it differs or what is misprinted: the place, the computation, what is right. Or why it is open.
    root : str
        Id of the claim at which the same fault is counted, where this one is only another place that shows it.
    quick : str
        Where a quick run asks for less than the full one in more than the number of draws: what it means then.
    full_only : bool
        Not run in a quick run, and open there.
    needs : str
        A library beyond those of every claim, which is also the name of an extra; open where it is not installed.
    mnist : bool
        About MNIST: without its files the claim runs on other digits, which decide nothing, and is open.

    Raises
    ------
    ValueError
        A field that is empty, unknown or in contradiction with another.
    """

    id: str
    paper: str
    source: str
    title: str
    statement: str
    rows: tuple[str, ...]
    run: Callable[[Context], Outcome] | None
    expected: str = "holds"
    reason: str = ""
    quick: str = ""
    root: str = ""
    full_only: bool = False
    needs: str = ""
    mnist: bool = False

    def __post_init__(self) -> None:
        one_of(self.paper, f"paper of claim {self.id!r}", tuple(PAPERS))
        if not _ID.fullmatch(self.id) or not self.id.startswith(self.paper + "-"):
            raise invalid("id of a claim", f"be {self.paper}- and letters, digits or dots", repr(self.id))
        for name in ("source", "title", "statement"):
            if not getattr(self, name).strip():
                raise invalid(f"{name} of claim {self.id}", "say something", "an empty text")
        if isinstance(self.rows, str) or not self.rows or not all(row.strip() for row in self.rows):
            raise invalid(f"rows of claim {self.id}", "be a tuple of at least one code", repr(self.rows))
        one_of(self.expected, f"expected of claim {self.id}", EXPECTED)
        if (self.run is None) != (self.expected == "open"):
            raise invalid(f"run of claim {self.id}", "be None where it is open, and only there", repr(self.run))
        if self.root and (not _ID.fullmatch(self.root) or self.root == self.id):
            raise invalid(f"root of claim {self.id}", "be the id of another claim", repr(self.root))
        if self.expected != "holds" and not self.reason.strip():
            raise invalid(f"reason of claim {self.id}", f"say why it is {self.expected}", "an empty text")


def hindrance(claim: Claim, context: Context) -> str:
    """Return why a claim cannot be run and stays open; an empty text where it can.

    Examples
    --------
    >>> import reluflow as rf
    >>> [figure] = rf.papers.claims("PL-F3")
    >>> hindrance(figure, Context(quick=True))
    'Only a full run runs this claim.'
    """
    if claim.run is None:
        return claim.reason
    if claim.full_only and context.quick:
        return "Only a full run runs this claim."
    if claim.needs:
        try:
            optional_module(claim.needs, claim.needs)
        except ImportError as error:
            return f"{error}."
    return ""


def undecided(claim: Claim, context: Context) -> str:
    """Return why a run of a claim decides nothing, so that it stays open; an empty text where it decides."""
    if claim.mnist and context.mnist is None:
        return "The claim is about MNIST, and these are other digits: --mnist FOLDER gives its files."
    return ""


def verdict(claim: Claim, outcome: Outcome) -> tuple[str, str]:
    """Return the verdict of a run and, for a failed one, what failed.

    Returns
    -------
    verdict : {"holds", "misprint", "differs", "failed"}
        ``"holds"``: every compared number is ok. ``"differs"``: one of the paper's results is not, every exact one is,
        and a reason is given. ``"misprint"``: the same, but all that is off is a formula or word as printed.
        ``"failed"``: an exact one is not, a control is as expected, or the verdict is not the expected one.
    message : str
        Empty unless failed.
    """
    wrong = [number.name for number in outcome.numbers if number.ok is False and number.source == "exact"]
    if wrong:
        return "failed", "not as derived: " + ", ".join(wrong)
    blind = [number.name for number in outcome.numbers if not number.can_fail]
    if blind:
        return "failed", "a wrong constant would not be noticed: " + ", ".join(blind)
    off = [number.name for number in outcome.numbers if number.ok is False]
    results = any(number.ok is False and number.source == "paper" for number in outcome.numbers)
    found = ("differs" if results else "misprint") if off else "holds"
    if off and not (claim.reason.strip() or outcome.note.strip()):
        return "failed", f"{found} without a reason: " + ", ".join(off)
    if found != claim.expected:
        return "failed", f"expected {claim.expected}, found {found}" + (": " + ", ".join(off) if off else "")
    return found, ""
