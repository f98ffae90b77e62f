"""What cannot take a loss of errors or weights of samples refuses them, and does not answer for another problem."""

from __future__ import annotations

import pytest

import reluflow as rf

NET = rf.Network([[0.1]], [0.1])


def test_a_proof_refuses_a_loss_and_weights_that_its_bounds_do_not_cover() -> None:
    errors = rf.integrate(rf.Dataset([[1.0]], [0.5]), NET, until=1.0, loss="squared")
    with pytest.raises(ValueError, match="sol must have the logistic or the exponential loss"):
        rf.prove(errors)
    weighted = rf.integrate(rf.Dataset([[1.0]], [1.0], weights=[2.0]), NET, until=1.0)
    with pytest.raises(ValueError, match="sol must have samples that count one each"):
        rf.prove(weighted)
    decayed = rf.integrate(rf.Dataset([[1.0]], [1.0]), NET, until=1.0, weight_decay=0.1)
    with pytest.raises(ValueError, match=r"sol must be a run without weight decay, found weight_decay=0\.1"):
        rf.prove(decayed)


@pytest.mark.parametrize("run", [rf.integrate, rf.descend])
def test_a_run_is_certified_for_its_own_loss(run) -> None:
    data = rf.Dataset([[1.0]], [1.0])
    options = {"until": 1.0} if run is rf.integrate else {"n_steps": 3}
    assert rf.certify(run(data, NET, loss="squared", **options), data).verdict == "not_critical"
    assert rf.certify(run(data, NET, **options), data).verdict == "global"
