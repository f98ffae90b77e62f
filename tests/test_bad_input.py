"""Every bad input raises ValueError that names the argument, what was found and what is expected."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow._validation import optional_module

HINT = '(rf.datasets.binary_labels makes labels of two values; loss="squared" takes any numbers)'
NAN, INF = math.nan, math.inf
X = [[1.65, -0.47], [-0.47, 1.35]]
Y = [1, -1]
DATA = rf.Dataset(X, Y)
NET = rf.Network([[0.1, 0.0], [0.0, 0.1], [0.1, 0.1]], [0.1, -0.1, 0.1])

Rows = list[tuple[str, Callable[[], Any], str]]


def dataset(**given: Any) -> Callable[[], Any]:
    options = {"X": X, "y": Y, **given}
    return lambda: rf.Dataset(options.pop("X"), options.pop("y"), **options)


def network(**given: Any) -> Callable[[], Any]:
    options = {"W": [[1.0, 2.0]], "a": [1.0], **given}
    return lambda: rf.Network(options.pop("W"), options.pop("a"), **options)


def integrate(**given: Any) -> Callable[[], Any]:
    options = {"data": DATA, "net": NET, "until": 1.0, **given}
    return lambda: rf.integrate(options.pop("data"), options.pop("net"), **options)


def descend(**given: Any) -> Callable[[], Any]:
    options = {"data": DATA, "net": NET, "n_steps": 1, **given}
    return lambda: rf.descend(options.pop("data"), options.pop("net"), **options)


def trained_on(y: list[Any]) -> Callable[[], Any]:
    return lambda: rf.integrate(rf.Dataset(X, y), NET, until=1.0)


DATASETS: Rows = [
    ("NaN", dataset(X=[[1.0, NAN], [1, 1]]), "X must hold finite numbers only, found nan at row 0, column 1"),
    ("infinity", dataset(X=[[1.0, 2.0], [-INF, 1]]), "X must hold finite numbers only, found -inf at row 1, column 0"),
    ("one row", dataset(X=[1.0, 2.0]), "X must have the shape (n, d), found the shape (2,)"),
    ("three axes", dataset(X=np.ones((2, 2, 2))), "X must have the shape (n, d), found the shape (2, 2, 2)"),
    (
        "no samples",
        dataset(X=np.ones((0, 2)), y=[]),
        "X must hold at least one row and one column, found the shape (0, 2)",
    ),
    ("no columns", dataset(X=np.ones((2, 0))), "X must hold at least one row and one column, found the shape (2, 0)"),
    ("empty", dataset(X=[], y=[]), "X must have the shape (n, d), found the shape (0,)"),
    (
        "ragged",
        dataset(X=[[1, 2], [1]]),
        "X must be an array of shape (n, d), found 1 entries at row 1 after 2 entries at row 0",
    ),
    (
        "a number among rows",
        dataset(X=[[1, 2], 3]),
        "X must be an array of shape (n, d), found a single number at row 1 after 2 entries at row 0",
    ),
    (
        "zero row",
        dataset(X=[[1.0, 2.0], [0, 0]]),
        "X must have no row of zeros, found zeros only at row 1 (a bias appends a constant: bias_input=1.0, "
        "bias=True of estimators, --bias 1 in the shell)",
    ),
    ("bias 0", dataset(bias_input=0), "bias_input must be a finite number other than 0, found 0.0"),
    ("bias True", dataset(bias_input=True), "bias_input must be a finite number other than 0, found True"),
    ("two biases", lambda: DATA.with_bias().with_bias(2), "data must have no bias yet, found the bias input 1"),
    (
        "names of a bias too",
        dataset(feature_names=["a", "b", "c"], bias_input=1.0),
        "feature_names must hold one name for each of the 2 columns of X, found 3 names",
    ),
    (
        "tiny row",
        dataset(X=[[1.0, 2.0], [0, 1e-120]]),
        "X must have a largest entry between 1e-100 and 1e+100 in each row, found 1e-120 at row 1",
    ),
    (
        "huge row",
        dataset(X=[[1e150, 2.0], [0, 1]]),
        "X must have a largest entry between 1e-100 and 1e+100 in each row, found 1e+150 at row 0",
    ),
    ("complex", dataset(X=np.ones((2, 2), dtype=complex)), "X must hold real numbers, found the dtype complex128"),
    (
        "objects",
        dataset(X=[[Decimal(1), None], [1, 1]]),
        "X must hold real numbers, found the dtype object, with None at row 0, column 1",
    ),
    (
        "integers beyond floats",
        dataset(X=[[1.0, 2.0], [10**400, 1]]),
        "X must hold real numbers, found the dtype object, with an integer that no float can hold at row 1, column 0",
    ),
    (
        "weights beyond floats",
        dataset(weights=[1.0, 10**400]),
        "weights must hold real numbers, found the dtype object, with an integer that no float can hold at row 1",
    ),
    (
        "strings",
        dataset(X=[["1", "2"], ["3", "4"]]),
        "X must hold real numbers, found the dtype <U1",
    ),
    ("dates", dataset(X=np.zeros((2, 2), dtype="M8[s]")), "X must hold real numbers, found the dtype datetime64[s]"),
    ("masked", dataset(X=np.ma.masked_greater(np.array(X), 1.5)), "X must have no masked entries, found 1 masked"),
    ("None", dataset(X=None), "X must have the shape (n, d), found the shape ()"),
    (
        "label 0.5",
        trained_on([1, 0.5]),
        f"data.y must hold +1 and -1 only for the logistic loss {HINT}, found 0.5 at row 1",
    ),
    (
        "labels 0 and 1",
        trained_on([1, 0]),
        f"data.y must hold +1 and -1 only for the logistic loss {HINT}, found 0 at row 1",
    ),
    (
        "booleans",
        trained_on([True, False]),
        f"data.y must hold +1 and -1 only for the logistic loss {HINT}, found 0 at row 1",
    ),
    ("negative weight", dataset(weights=[1, -2]), "weights must not be negative, found -2 at row 1"),
    ("no weight", dataset(weights=[0, 0]), "weights must be positive for at least one sample, found zeros only"),
    ("few weights", dataset(weights=[1]), "weights must have one entry for each of the 2 rows of X, found 1 entries"),
    ("NaN weight", dataset(weights=[1, NAN]), "weights must hold finite numbers only, found nan at row 1"),
    ("NaN label", dataset(y=[1, NAN]), "y must hold finite numbers only, found nan at row 1"),
    ("string labels", dataset(y=["a", "b"]), "y must hold real numbers, found the dtype <U1, with 'a' at row 0"),
    ("column of labels", dataset(y=[[1], [-1]]), "y must have the shape (n,), found the shape (2, 1)"),
    ("too few labels", dataset(y=[1]), "y must have one entry for each of the 2 rows of X, found 1 entries"),
    ("too many labels", dataset(y=[1, 1, -1]), "y must have one entry for each of the 2 rows of X, found 3 entries"),
    (
        "one name short",
        dataset(feature_names=["a"]),
        "feature_names must hold one name for each of the 2 columns of X, found 1 names",
    ),
    (
        "a string of names",
        dataset(feature_names="ab"),
        "feature_names must hold one name for each of the 2 columns of X, found 2 names",
    ),
    (
        "numbers as names",
        dataset(feature_names=[1, 2]),
        "feature_names must be a sequence of strings, found a value of type int",
    ),
    ("a number as name", dataset(name=3), "name must be a string, found a value of type int"),
]

NETWORKS: Rows = [
    ("NaN", network(W=[[NAN, 1.0]]), "W must hold finite numbers only, found nan at row 0, column 0"),
    ("one row", network(W=[1.0, 2.0]), "W must have the shape (m, d), found the shape (2,)"),
    (
        "no neuron",
        network(W=np.ones((0, 2)), a=[]),
        "W must hold at least one row and one column, found the shape (0, 2)",
    ),
    ("infinite output", network(a=[INF]), "a must hold finite numbers only, found inf at row 0"),
    ("too many outputs", network(a=[1.0, 2.0]), "a must have one weight for each of the 1 rows of W, found 2 weights"),
    (
        "row of outputs",
        network(a=[[1.0]]),
        "a must have the shape (m,) with one output, or (m, K) with several, found the shape (1, 1)",
    ),
    ("two rows", network(a=np.ones((2, 2))), "a must have one weight for each of the 1 rows of W, found 2 rows"),
    ("leak 1", network(leak=1.0), "leak must lie in [0, 1), found 1.0"),
    ("negative leak", network(leak=-0.1), "leak must lie in [0, 1), found -0.1"),
    ("NaN leak", network(leak=NAN), "leak must lie in [0, 1), found nan"),
    ("leak as text", network(leak="0.1"), "leak must lie in [0, 1), found '0.1'"),
    ("pattern of twos", network(pattern=[[2, 1]]), "pattern must hold -1, 0 and +1 only, found 2 at row 0, column 0"),
    ("flat pattern", network(pattern=[1, 1]), "pattern must have the shape (m, n), found the shape (2,)"),
    (
        "pattern of two neurons",
        network(pattern=[[1], [1]]),
        "pattern must have the shape (1, n), a row for each neuron, found the shape (2, 1)",
    ),
    (
        "other inputs",
        lambda: NET([[1.0, 2.0, 3.0]]),
        "X must have 2 columns, the inputs of the network, found 3 columns",
    ),
    ("one input", lambda: NET([1.0, 2.0]), "X must have the shape (n, d), found the shape (2,)"),
    ("NaN input", lambda: NET([[1.0, NAN]]), "X must hold finite numbers only, found nan at row 0, column 1"),
    ("bias 0", network(bias_input=0.0), "bias_input must be a finite number other than 0, found 0.0"),
    (
        "a bias alone",
        network(W=[[1.0]], bias_input=1.0),
        "bias_input must be left out where W has one column alone, found 1.0",
    ),
    (
        "other inputs beside a bias",
        lambda: rf.Network([[1.0, 2.0]], [1.0], bias_input=1.0)([[1.0, 2.0, 3.0]]),
        "X must have 1 or, with the bias, 2 columns, the inputs of the network, found 3 columns",
    ),
]

RUNS: Rows = [
    (
        "data as a list",
        integrate(data=[X, Y]),
        "data must be a Dataset, (X, y), (X, y, weights) or a MultiClassDataset, found a value of type list",
    ),
    ("net as arrays", integrate(net=[[1.0]]), "net must be a Network or a Solution, found a value of type list"),
    (
        "other dimension",
        integrate(net=rf.Network([[1.0]], [1.0])),
        "net must have dim 2, the columns of X, found dim 1",
    ),
    (
        "a bias that the data do not have",
        integrate(net=rf.Network([[1.0, 0.0]], [1.0], bias_input=2.0)),
        "net must have the last column of data.X as its bias input (data.with_bias(2) appends it), found the bias "
        "input 2",
    ),
    (
        "pattern of other data",
        integrate(net=rf.Network([[1.0, 0.0]], [1.0], pattern=[[1, -1, 1]])),
        "net.pattern must have a column for each of the 2 samples, found 3 columns",
    ),
    (
        "pattern against the signs",
        integrate(net=rf.Network([[1.0, 0.0]], [1.0], pattern=[[1, 1]])),
        "net.pattern must hold the signs of W X^T, found 1 where w·x = -0.47 (neuron 0, sample 1)",
    ),
    (
        "pattern held off the boundary",
        integrate(net=rf.Network([[1.0, 0.0]], [1.0], pattern=[[0, -1]])),
        "net.pattern must hold the signs of W X^T, found 0 where w·x = 1.65 (neuron 0, sample 0)",
    ),
    ("until as text", integrate(until="10"), "until must be a Stop, or a time above 0, found '10'"),
    ("until 0", integrate(until=0), "until must be a Stop, or a time above 0, found 0.0"),
    ("until NaN", integrate(until=NAN), "until must be a Stop, or a time above 0, found nan"),
    ("until None", integrate(until=None), "until must be a Stop, or a time above 0, found None"),
    ("loss", integrate(loss="hinge"), "loss must be one of 'logistic', 'exponential', 'squared', found 'hinge'"),
    ("reduction", integrate(reduction="total"), "reduction must be one of 'sum', 'mean', found 'total'"),
    (
        "on_branch",
        integrate(on_branch="up"),
        "on_branch must be one of 'inactive', 'active', 'stay', 'raise', found 'up'",
    ),
    ("rtol 0", integrate(rtol=0.0), "rtol must lie in [1e-14, 1), found 0.0"),
    ("rtol too small", integrate(rtol=1e-16), "rtol must lie in [1e-14, 1), found 1e-16"),
    ("rtol 1", integrate(rtol=1), "rtol must lie in [1e-14, 1), found 1.0"),
    ("rtol NaN", integrate(rtol=NAN), "rtol must lie in [1e-14, 1), found nan"),
    ("rtol text", integrate(rtol="1e-9"), "rtol must lie in [1e-14, 1), found '1e-9'"),
    ("atol", integrate(atol=-1e-9), "atol must be None or a finite number of at least 0, found -1e-09"),
    ("atol infinite", integrate(atol=INF), "atol must be None or a finite number of at least 0, found inf"),
    ("max_events", integrate(max_events=0), "max_events must be an integer of at least 1, found 0"),
    (
        "save_at beyond the stop",
        integrate(save_at=[0.5, 1.5]),
        "save_at must hold times that are reachable, up to the stop at 1.0, found 1.5",
    ),
    (
        "save_at beyond the log stop",
        integrate(until=rf.Stop(log_time=0.0), save_at=[0.5, 1.5]),
        "save_at must hold times that are reachable, up to the stop at 1.0, found 1.5",
    ),
    (
        "save_at_log beyond the stop",
        integrate(save_at_log=[0.5]),
        "save_at_log must hold times that are reachable, up to the stop at 0.0, found 0.5",
    ),
    (
        "save_at negative",
        integrate(save_at=[-1.0, 0.5]),
        "save_at must not be before the start of the run at t = 0.0, found -1.0",
    ),
    (
        "save_at falling",
        integrate(save_at=[0.1, 0.3, 0.2]),
        "save_at must increase strictly, found 0.2 after 0.3 at entry 2",
    ),
    (
        "save_at repeated",
        integrate(save_at=[0.1, 0.1]),
        "save_at must increase strictly, found 0.1 after 0.1 at entry 1",
    ),
    ("save_at NaN", integrate(save_at=[0.1, NAN]), "save_at must hold finite numbers only, found nan at row 1"),
    ("save_at a number", integrate(save_at=0.5), "save_at must have the shape (k,), found the shape ()"),
    ("save_at empty", integrate(save_at=[]), "save_at must hold at least one time, found none"),
    (
        "both save_at",
        integrate(save_at=[0.5], save_at_log=[-1.0]),
        "save_at_log must be left out where save_at is given, found both",
    ),
    ("progress", integrate(progress=1), "progress must be True or False, found a value of type int"),
    ("callback", integrate(callback=3), "callback must be None or callable, found a value of type int"),
]

STEPS: Rows = [
    ("data", descend(data=None), "data must be a Dataset, (X, y) or (X, y, weights), found a value of type NoneType"),
    ("net", descend(net=None), "net must be a Network, found a value of type NoneType"),
    ("other dimension", descend(net=rf.Network([[1.0]], [1.0])), "net must have dim 2, the columns of X, found dim 1"),
    (
        "a bias that the data do not have",
        descend(net=rf.Network([[1.0, 0.0]], [1.0], bias_input=2.0)),
        "net must have the last column of data.X as its bias input (data.with_bias(2) appends it), found the bias "
        "input 2",
    ),
    ("step 0", descend(step=0), "step must be a finite number above 0, found 0.0"),
    ("step infinite", descend(step=INF), "step must be a finite number above 0, found inf"),
    ("n_steps 0", descend(n_steps=0), "n_steps must be an integer of at least 1, found 0"),
    ("n_steps 1e3", descend(n_steps=1e3), "n_steps must be an integer of at least 1, found 1000.0"),
    ("batch_size 0", descend(batch_size=0), "batch_size must be an integer of at least 1, found 0"),
    ("batch_size 3", descend(batch_size=3), "batch_size must be at most n = 2, found 3"),
    ("seed", descend(seed=1.5), "seed must be an integer of at least 0, a numpy Generator or None, found 1.5"),
    ("loss", descend(loss="hinge"), "loss must be one of 'logistic', 'exponential', 'squared', found 'hinge'"),
    ("reduction", descend(reduction="max"), "reduction must be one of 'sum', 'mean', found 'max'"),
    ("save_every", descend(save_every=0), "save_every must be an integer of at least 1, found 0"),
]


def rows(table: Rows) -> list[Any]:
    return [pytest.param(call, message, id=name) for name, call, message in table]


@pytest.mark.parametrize(("call", "message"), rows(DATASETS))
def test_bad_data_is_named(call: Callable[[], Any], message: str) -> None:
    says(call, message)


@pytest.mark.parametrize(("call", "message"), rows(NETWORKS))
def test_a_bad_network_is_named(call: Callable[[], Any], message: str) -> None:
    says(call, message)


@pytest.mark.parametrize(("call", "message"), rows(RUNS))
def test_a_bad_argument_of_a_run_is_named(call: Callable[[], Any], message: str) -> None:
    says(call, message)


@pytest.mark.parametrize(("call", "message"), rows(STEPS))
def test_a_bad_argument_of_a_descent_is_named(call: Callable[[], Any], message: str) -> None:
    says(call, message)


def says(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        call()
    assert str(caught.value) == message


def test_a_stop_before_the_start_of_a_continued_run_is_named() -> None:
    first = rf.integrate(DATA, NET, until=2.0)
    says(lambda: rf.integrate(DATA, first, until=2.0), "Stop.time must be later than the start at t = 2.0, found 2.0")
    says(
        lambda: rf.integrate(DATA, first, until=rf.Stop(log_time=-1.0)),
        f"Stop.log_time must be later than the start at log t = {math.log(2.0)!r}, found -1.0",
    )
    says(
        lambda: rf.integrate(DATA, first, until=3.0, save_at=[1.0]),
        "save_at must not be before the start of the run at t = 2.0, found 1.0",
    )


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    events = rf.integrate(DATA, NET, until=1.0).events
    with pytest.raises(
        ImportError, match=r'pandas is needed here and is not installed: pip install "reluflow\[data\]"'
    ):
        events.to_pandas()
    with pytest.raises(ImportError, match="no_such_library is needed here"):
        optional_module("no_such_library.part", "data")
