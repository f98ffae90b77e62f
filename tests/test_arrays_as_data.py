"""Arrays (X, y) or (X, y, weights) are data for one output, with the checks, and the results, of a `Dataset`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import reluflow as rf

RNG = np.random.default_rng(4)
X = RNG.standard_normal((6, 3))
Y = np.array([1, -1, 1, 1, -1, -1])
COUNTS = [1.0, 2.0, 0.5, 1.0, 1.0, 3.0]
NET = rf.Network.init(5, 3, scale=0.3, seed=2)
DATA = rf.Dataset(X, Y)
WEIGHTED = rf.Dataset(X, Y, weights=COUNTS)


@pytest.mark.parametrize(("arrays", "data"), [((X, Y), DATA), ((X.tolist(), Y.tolist(), COUNTS), WEIGHTED)])
@pytest.mark.parametrize("options", [{}, {"loss": "squared"}, {"train": "first"}, {"rates": (1.0, 2.0)}])
def test_a_run_on_arrays_is_that_on_a_dataset(arrays: Any, data: rf.Dataset, options: dict[str, Any]) -> None:
    run: Any = rf.integrate(arrays, NET, until=3.0, **options)
    other: Any = rf.integrate(data, NET, until=3.0, **options)
    assert run.data == data
    assert type(run) is type(other)
    assert (run.final.W == other.final.W).all()
    assert len(run.events) == len(other.events) > 0
    assert rf.integrate(arrays, run, until=4.0).t_end == 4.0


def test_each_run_of_an_ensemble_takes_arrays() -> None:
    starts = [rf.Network.init(5, 3, scale=0.3, seed=seed) for seed in range(3)]
    expected = [rf.integrate(DATA, net, until=2.0).final for net in starts]
    for data in ((X, Y), [(X, Y)] * 3, [DATA, (X, Y), DATA], (DATA, DATA, DATA)):
        runs = rf.integrate_many(data, starts, until=2.0).collect()
        assert [run.result.final for run in runs] == expected
    one, two = rf.integrate_many((X, Y), starts[:2], until=2.0, train="first").collect()
    assert one.result.data == two.result.data == DATA
    assert all(run.result.data == DATA for run in rf.integrate_many((DATA, DATA), starts[:2], until=2.0))


def test_a_network_with_a_bias_takes_arrays_without_its_column() -> None:
    net = rf.Network.init(5, 3, scale=0.3, seed=2, bias_input=0.5)
    run = rf.integrate((X[:, :2], Y), net, until=2.0)
    assert run.data == rf.Dataset(X[:, :2], Y, bias_input=0.5)
    whole = rf.integrate((run.data.X, Y), net, until=2.0)
    assert whole.final.bias_input == 0.5
    assert (whole.final.W == run.final.W).all()


def test_what_else_is_asked_of_a_network_takes_arrays() -> None:
    descent = rf.descend((X, Y), NET, n_steps=9)
    assert descent.data == DATA
    assert descent.final == rf.descend(DATA, NET, n_steps=9).final
    assert rf.descend((X, Y), NET, n_steps=9, train="first").data == DATA
    sol = rf.integrate(DATA, NET, until=50.0)
    assert rf.certify(sol, (X, Y)).verdict == rf.certify(sol, DATA).verdict
    assert rf.analysis.losses(sol, test=(X[:3], Y[:3])).equals(rf.analysis.losses(sol, test=rf.Dataset(X[:3], Y[:3])))
    signs = np.sign(NET.a)
    assert (rf.early_alignment((X, Y), NET.W, signs).rate == rf.early_alignment(DATA, NET.W, signs).rate).all()
    paths = [rf.saddle_to_saddle(data, NET.W, signs, max_stages=1) for data in ((X, Y), DATA)]
    assert paths[0].data == DATA
    assert (paths[0].times == paths[1].times).all()


ZEROS = np.vstack([np.zeros(3), X[1:]])


@pytest.mark.parametrize("options", [{}, {"train": "first"}])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((X, Y[:4]), r"data\[1\] must have one entry for each of the 6 rows of data\[0\], found 4 entries"),
        ((X, [*Y[:5], np.nan]), r"data\[1\] must hold finite numbers only, found nan at row 5"),
        ((X, 0.5 * Y), r"data\[1\] must hold \+1 and -1 only for the logistic loss \(.*\), found 0.5 at row 0"),
        ((X, np.eye(6)), r"data must have one target a sample \(.*\), found 6"),
        ((X[0], Y), r"data\[0\] must have the shape \(n, d\), found the shape \(3,\)"),
        ((ZEROS, Y), r"data\[0\] must have no row of zeros, found zeros only at row 0"),
        ((1e200 * X, Y), r"data\[0\] must have a largest entry between 1e-100 and 1e\+100 in each row"),
        ((X[:, :2], Y), r"net must have dim 2, the columns of X, found dim 3"),
        ((X, Y, COUNTS[:4]), r"data\[2\] must have one entry for each of the 6 rows of data\[0\], found 4 entries"),
        ((X, Y, -np.ones(6)), r"data\[2\] must not be negative, found -1 at row 0"),
        ((X, Y, COUNTS, 3), r"data must be a Dataset, .* found a value of type tuple"),
        ([X, Y], r"data must be a Dataset, .* found a value of type list"),
    ],
)
def test_what_is_wrong_with_arrays_is_named(data: Any, message: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=message):
        rf.integrate(data, NET, until=1.0, **options)


@pytest.mark.parametrize(
    "columns",
    [
        {"u": pd.array([1, 2], dtype="Int64"), "v": [0.5, 1.0]},
        {"u": pd.array([1, 2], dtype="Int64"), "v": pd.array([0.5, 1.0], dtype="Float64")},
        {"u": pd.array([True, False], dtype="boolean"), "v": [3, 4]},
        {"u": [True, False], "v": [0.5, 1.0]},
    ],
)
def test_data_frames_of_numbers_are_arrays_whatever_the_types_of_their_columns(columns: dict[str, Any]) -> None:
    frame = pd.DataFrame(columns)
    plain = np.column_stack([np.array(list(column), dtype=float) for column in columns.values()])
    labels = [1.0, -1.0]
    assert rf.Dataset(frame, labels) == rf.Dataset(plain, labels, feature_names=["u", "v"])
    assert rf.Dataset(plain, frame) == rf.Dataset(plain, plain)
    assert rf.Dataset(plain, frame["u"]) == rf.Dataset(plain, plain[:, 0])
    assert rf.integrate((frame, labels), rf.Network.init(2, 2, seed=0), until=1.0).data.X.tolist() == plain.tolist()


@pytest.mark.parametrize("kind", ["Int64", "Float64", "boolean"])
def test_a_missing_entry_of_a_data_frame_is_named(kind: str) -> None:
    frame = pd.DataFrame({"u": [0.5, 1.0], "v": pd.array([1, None], dtype=kind)})
    with pytest.raises(ValueError, match="X must hold finite numbers only, found nan at row 1, column 1"):
        rf.Dataset(frame, [1, -1])
    with pytest.raises(ValueError, match="y must hold finite numbers only, found nan at row 1"):
        rf.Dataset(X[:2], frame["v"])


def test_data_frames_of_other_things_are_refused() -> None:
    with pytest.raises(
        ValueError, match="X must hold real numbers, found the dtype object, with 'a' at row 0, column 1"
    ):
        rf.Dataset(pd.DataFrame({"u": pd.array([1, 2], dtype="Int64"), "v": ["a", "b"]}), [1, -1])
