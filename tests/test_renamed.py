"""Names of version 0.1 still work, and say where they stand now."""

from __future__ import annotations

import pytest

import reluflow as rf


@pytest.mark.parametrize(
    ("package", "old", "new"),
    [
        (rf, "EventTable", rf.flow.EventTable),
        (rf, "Limit", rf.limits.Limit),
        (rf, "DescentResult", rf.descent.DescentResult),
        (rf.convex, "rectified_ellipsoid", rf.convex.rectified_outline),
        (rf.conditions, "max_margin", rf.conditions.linear_margin),
        (rf.analysis, "summary", rf.analysis.summarise),
    ],
)
def test_an_old_name_leads_to_the_new_one_with_a_warning(package: object, old: str, new: object) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old} is now reluflow"):
        assert getattr(package, old) is new


def test_every_old_name_leads_somewhere() -> None:
    for home, names in rf._HOMES.items():
        for name in names.split():
            with pytest.warns(DeprecationWarning, match=f"reluflow.{home}.{name}"):
                assert getattr(rf, name).__class__ is not None


def test_a_name_that_never_was_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'reluflow' has no attribute 'Trajectory'"):
        _ = rf.Trajectory


def test_no_two_public_classes_share_a_name() -> None:
    """A function of `figures` draws what the function or class of that name in `analysis` or `convex` gives."""
    packages = (rf.analysis, rf.conditions, rf.convex, rf.datasets, rf.early, rf.flow, rf.limits, rf.networks)
    owners: dict[str, set[int]] = {}
    for package in packages:
        for name in package.__all__:
            owners.setdefault(name, set()).add(id(getattr(package, name)))
    assert [name for name, values in owners.items() if len(values) > 1] == []
