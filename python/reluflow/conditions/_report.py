"""Which theorems of the papers apply to a problem, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from .._validation import instance, invalid, leak_value, optional_module
from ..datasets import Dataset, MultiClassDataset
from ..datasets._bias import about_columns, bare_inputs
from ..datasets._dataset import one_target
from ..layered._refused import refuse_layers
from ..losses import LossName, check_loss, check_targets
from ..networks import MultiClassNetwork, Network
from ..networks._parts import one_output
from ._facts import Facts
from ._pairs import ExtremePairs, orthogonal_separability
from ._starts import check_inputs
from ._theorems import Theorem, theorems
from ._verdict import WORDS, Verdict

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

    def __repr__(self) -> str:
        """One line: how many conditions and theorems hold; printing gives the table."""
        held = sum(c.holds is True for c in self.conditions)
        applied = sum(t.applies is True for t in self.theorems)
        counts = f"{held} of {len(self.conditions)} conditions hold, {applied} of {len(self.theorems)} theorems apply"
        return f"Report({self.title}: {counts})"

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


@dataclass(frozen=True, eq=False)
class MultiClassReport:
    """Reports of K classes, each against the rest; printing it gives the tables.

    Attributes
    ----------
    separability : Verdict
        Orthogonal separability among the K classes, [WP, Sec. 2.1]; for K >= 3 it does not give that of one class
        against the rest.
    reports : tuple of Report
        In the order of `classes`.
    classes : tuple
    """

    separability: Verdict[ExtremePairs]
    reports: tuple[Report, ...]
    classes: tuple[Any, ...]

    def __len__(self) -> int:
        """Return K."""
        return len(self.reports)

    def __iter__(self) -> Iterator[Report]:
        """Go through the reports in the order of the classes."""
        return iter(self.reports)

    def __getitem__(self, k: int) -> Report:
        """Return the report of class index k."""
        return self.reports[k]

    def __str__(self) -> str:
        """Return the tables as text."""
        return "\n\n".join((f"among the classes: {self.separability}", *(str(report) for report in self.reports)))

    def to_pandas(self) -> pd.DataFrame:
        """Return the theorems as a table with one row for each class and theorem; the first column is ``class``."""
        pandas = optional_module("pandas", "analysis")
        tables = [report.to_pandas() for report in self.reports]
        for label, table in zip(self.classes, tables, strict=True):
            table.insert(0, "class", pandas.Series([label] * len(table), dtype=object))
        both: pd.DataFrame = pandas.concat(tables, ignore_index=True)
        return both


@overload
def report(
    data: Dataset, net: Network | None = None, *, leak: float | None = None, loss: LossName = "logistic"
) -> Report: ...
@overload
def report(
    data: MultiClassDataset,
    net: MultiClassNetwork | None = None,
    *,
    leak: float | None = None,
    loss: LossName = "logistic",
) -> MultiClassReport: ...
def report(
    data: Dataset | MultiClassDataset,
    net: Network | MultiClassNetwork | None = None,
    *,
    leak: float | None = None,
    loss: LossName = "logistic",
) -> Report | MultiClassReport:
    """Say which theorems of the papers apply to a problem, and what each then predicts.

    Parameters
    ----------
    data : Dataset or MultiClassDataset
        Of K classes, each is looked at against the rest. Its weights count; a sample of weight 0 is left out.
    net : Network or MultiClassNetwork, optional
        The start. Without one, theorems that ask something of it stay open.
    leak : float, optional
        α in [0, 1) if there is no network; 0 by default. A network has its own.
    loss : {"logistic", "exponential", "squared"}, optional
        Decides the threshold of the loss. The theorems are on losses of margins: none applies to the squared one.

    Returns
    -------
    Report, or MultiClassReport for K classes
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
    if isinstance(data, MultiClassDataset):
        starts = _starts(data, net)
        reports = tuple(report(data.binary(k), starts[k], leak=leak, loss=loss) for k in range(data.K))
        return MultiClassReport(orthogonal_separability(data), reports, data.classes)
    data = one_target(data, expected="a Dataset or a MultiClassDataset")
    if net is not None:
        refuse_layers(net, "net", "the theorems are of such networks")
        instance(net, "net", Network, "a Network")
        assert isinstance(net, Network)  # for the type checker
        one_output(net)
    kind = check_loss(loss)
    check_targets(data, kind)
    slope = leak_value(0.0 if leak is None else leak)
    if net is not None:
        check_inputs(data, net)
        if leak is not None and slope != net.leak:
            raise invalid("leak", f"be left out or equal that of net, {net.leak:g}", repr(leak))
        slope = net.leak
    data = _counted(data)
    facts = Facts(data, net, slope, kind)
    start = "no start given" if net is None else f"start of width {net.width} and norm {net.norm:.3g}"
    name = data.name or "data"
    title = f"{name} (n = {data.n}, d = {data.d}), leak {slope:g}, {kind} loss, {start}"
    return Report(title, facts.verdicts(), theorems(facts))


def _counted(data: Dataset) -> Dataset:
    """Return the data without samples that count nothing: the flow does not see them."""
    used = data.counts > 0
    if used.all():
        return data
    return Dataset(
        bare_inputs(data)[used], data.y[used], weights=data.counts[used], name=data.name, **about_columns(data)
    )


def _starts(data: MultiClassDataset, net: object) -> Sequence[Network | None]:
    if net is None:
        return [None] * data.K
    instance(net, "net", MultiClassNetwork, "a MultiClassNetwork for data with classes")
    assert isinstance(net, MultiClassNetwork)  # for the type checker
    if net.K != data.K:
        raise invalid("net", f"hold one network for each of the {data.K} classes", f"{net.K}")
    return net.networks


def _details(theorem: Theorem) -> list[str]:
    details = []
    if theorem.fails:
        details.append("fails: " + ", ".join(theorem.fails))
    if theorem.undecided:
        details.append("open: " + ", ".join(theorem.undecided))
    if theorem.numbers:
        details.append(", ".join(f"{name} = {value:.6g}" for name, value in theorem.numbers.items()))
    return details
