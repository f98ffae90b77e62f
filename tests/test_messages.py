"""What a run that ends early says: the neuron, the samples and log t that it met, and what to do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import reluflow as rf

LOG_T = r"at log t = -?[\d.e+-]+"


def test_a_loss_that_is_there_at_the_start_is_told() -> None:
    sol = rf.integrate(rf.Dataset([[1.0]], [1]), rf.Network([[1.0]], [1.0]), until=rf.Stop(loss=10.0))
    assert sol.status == "reached_loss"
    assert sol.message == "the initial loss is already at or below the requested value"


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-11])
def test_a_stall_names_its_fastest_neuron_and_does_not_depend_on_rtol(rtol: float) -> None:
    """x and -2 x are learnt in part only: the two labels of one sample balance while the rest grows like log t."""
    rng = np.random.default_rng([1, 5])
    X, y = rng.standard_normal((10, 3)), rng.choice([-1.0, 1.0], 10)
    data = rf.Dataset(np.vstack([X, X[:2]]), np.r_[y, -y[:2]])
    net = rf.Network.init(6, 3, scale=0.1, leak=0.1, seed=1)
    sol = rf.integrate(data, net, until=rf.Stop(loss=1e-6), rtol=rtol)  # to a time it goes on
    assert sol.status == "stalled", sol.message
    assert 14.0 < sol.log_t_end < 20.0
    assert re.search(rf"stalls {LOG_T} while neurons still move, neuron \d fastest", sol.message)
    assert re.search(r"ask for an earlier time; the norm of the gradient is \S+$", sol.message)


def test_a_loss_out_of_reach_ends_the_run_and_names_the_samples() -> None:
    """x = -1 is seen by no neuron: its loss log 2 stays, and no other criterion would end the run."""
    data = rf.Dataset([[1.0], [-1.0]], [1, 1])
    net = rf.Network([[0.5]], [0.5])
    sol = rf.integrate(data, net, until=rf.Stop(loss=0.5))
    assert (sol.status, sol.success) == ("stalled", False)
    assert re.search(rf"out of reach: it stays at e\^-0\.36\d*, the loss of sample 1, .*{LOG_T}", sol.message)
    assert sol.stats["steps"] < 500
    bounded = rf.integrate(data, net, until=rf.Stop(loss=0.5, log_time=2000.0))
    assert bounded.status == "reached_log_time"


def test_margins_beyond_their_digits_name_the_smallest() -> None:
    data = rf.Dataset([[1.0, 0.2], [-0.3, 1.0]], [1, -1])
    net = rf.Network.init(4, 2, scale=0.1, seed=1)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=1e14, direction=1e-15))
    assert sol.status == "accuracy_not_reached"
    assert re.search(rf"rounding hides their differences: \S+ of sample \d, the smallest, {LOG_T}; ask", sol.message)


def test_a_branch_names_neuron_samples_and_what_to_choose() -> None:
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, 1])
    with pytest.raises(rf.BranchingError, match="neuron 0") as caught:
        rf.integrate(data, rf.Network([[0.0, 1.0]], [1.0]), until=1.0, on_branch="raise")
    assert "sample" in str(caught.value)


@pytest.mark.parametrize(
    ("until", "options"),
    [
        (rf.Stop(time=0.5), {}),
        (rf.Stop(log_time=-1.0), {}),
        (rf.Stop(loss=1.0, time=100.0), {}),
        (rf.Stop(mean_loss=0.5, time=100.0), {}),
        (rf.Stop(loss=100.0), {}),
        (rf.Stop(log_norm=-9.0), {}),
        (rf.Stop(log_norm=1.0, time=100.0), {}),
        (rf.Stop(events=1, time=100.0), {}),
        (rf.Stop(time=100.0), {"max_events": 1}),
        (rf.Stop(time=100.0), {"callback": lambda _: True, "callback_period": 0.0}),
        (rf.Stop(time=100.0, seconds=1e-9), {}),
    ],
    ids=lambda part: "-".join(part) if isinstance(part, dict) else str(part),
)
def test_a_criterion_ends_runs_of_both_models_with_the_same_words(until: rf.Stop, options: dict[str, Any]) -> None:
    data = rf.Dataset([[1.0, 0.2], [-0.3, 1.0]], [1, -1])
    two = rf.Network([[0.5, -0.4], [-0.2, 0.6], [0.3, 0.1]], [0.4, -0.5, 0.2])
    own, layered = (rf.integrate(data, two, until=until, **more, **options) for more in ({}, {"rates": (1.0, 1.0)}))
    assert type(own) is not type(layered)
    assert (own.status, own.success, own.message) == (layered.status, layered.success, layered.message)
