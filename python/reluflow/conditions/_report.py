"""Which theorems of the papers apply to a problem, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._validation import invalid, leak_value, one_of, optional_module
from ..datasets import Dataset
from ..networks import Network
from ._facts import Facts
from ._starts import THRESHOLDS, check_pair
from ._theorems import Theorem, theorems
from ._verdict import WORDS, Verdict, check_data

if TYPE_CHECKING:
    import pandas as pd

APPLIES = {True: "applies", False: "does not apply", None: "open"}
WIDTH = max(len(word) for word in (*APPLIES.values(), *WORDS.values()))


@dataclass(frozen=True, eq=False)
class Report:
    """Conditions and theorems for one problem; printing it gives the table.

    Attributes
    ----------
    title : str
        Data, leak and start.
    conditions : tuple of Verdict
        Every condition decided; those on the start only if one was given.
    theorems : tuple of Theorem
        Every theorem, whether it applies or not.
    """

    title: str
    conditions: tuple[Verdict[object], ...]
    theorems: tuple[Theorem, ...]

    def __str__(self) -> str:
        """Return the table as text."""
        lines = [self.title, "", "conditions"]
        lines += [f"  {WORDS[c.holds]:{WIDTH}}  {c.name}: {c.value:.6g} ({c.meaning})" for c in self.conditions]
        lines += ["", "theorems (what they say of small weights, they say of small enough ones)"]
        for theorem in self.theorems:
            lines.append(f"  {APPLIES[theorem.applies]:{WIDTH}}  {theorem.source}: {theorem.prediction}")
            lines += [f"  {'':{WIDTH}}    {detail}" for detail in _details(theorem)]
        return "\n".join(lines)

    def to_pandas(self) -> pd.DataFrame:
        """Return the theorems as a table with one row each.

        Columns: source, applies (object: True, False or None), fails, undecided, prediction, numbers.
        """
        pandas = optional_module("pandas", "analysis")
        fields = ("source", "applies", "fails", "undecided", "prediction", "numbers")
        table: pd.DataFrame = pandas.DataFrame(
            {field: pandas.Series([getattr(row, field) for row in self.theorems], dtype=object) for field in fields}
        )
        return table


def report(data: Dataset, net: Network | None = None, *, leak: float | None = None, loss: str = "logistic") -> Report:
    """Say which theorems of the papers apply to a problem, and what each then predicts.

    Parameters
    ----------
    data : Dataset
    net : Network, optional
        The start. Without one, theorems that ask something of it stay open.
    leak : float, optional
        α in [0, 1) if there is no network; 0 by default. A network has its own.
    loss : {"logistic", "exponential"}, optional
        Decides the threshold of the loss.

    Returns
    -------
    Report
        `print` shows the table, `to_pandas` returns it.

    Raises
    ------
    ValueError
        Data and network do not fit, a leak that differs from the network's, another loss.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> table = rf.conditions.report(data, rf.Network.init(10, 2, seed=1))
    >>> [row.source for row in table.theorems if row.applies]
    ['[WP] Theorem 1', '[WP] Theorem 4, with both signs alive', '[WP] Proposition 4, [LLWA] Appendix H']
    >>> round(table.theorems[3].numbers["P*"], 6)
    1.282432
    """
    check_data(data)
    kind = one_of(loss, "loss", tuple(THRESHOLDS))
    slope = leak_value(0.0 if leak is None else leak)
    if net is not None:
        check_pair(data, net)
        if leak is not None and slope != net.leak:
            raise invalid("leak", f"be left out or equal that of net, {net.leak:g}", repr(leak))
        slope = net.leak
    facts = Facts(data, net, slope, kind)
    start = "no start given" if net is None else f"start of width {net.width} and norm {net.norm:.3g}"
    name = data.name or "data"
    title = f"{name} (n = {data.n}, d = {data.d}), leak {slope:g}, {kind} loss, {start}"
    return Report(title, facts.verdicts(), theorems(facts))


def _details(theorem: Theorem) -> list[str]:
    details = []
    if theorem.fails:
        details.append("fails: " + ", ".join(theorem.fails))
    if theorem.undecided:
        details.append("open: " + ", ".join(theorem.undecided))
    if theorem.numbers:
        details.append(", ".join(f"{name} = {value:.6g}" for name, value in theorem.numbers.items()))
    return details
