"""Certificates of several outputs beside a sample of zeros, of which any network has the outputs 0 (Boolean data)."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
TARGETS = np.array([[0.5, 0.0], [1.0, -1.0], [-1.0, 1.0], [0.5, 0.5]])
CLASSES = np.array([1, 0, 1, 0])
MOVES = X.any(axis=1)


def network(seed: int) -> rf.Network:
    rng = np.random.default_rng(seed)
    return rf.Network(rng.standard_normal((4, 2)), rng.standard_normal((4, 2)))


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_of_zeros_adds_its_loss_to_a_fit(seed: int) -> None:
    """The direction of a sample of zeros was 0/0, and an SVD failed for it."""
    net, counts = network(seed), np.array([2.0, 1.0, 3.0, 1.0])
    found = rf.certify(net, (X, TARGETS, counts), loss="squared")
    without = rf.certify(net, (X[MOVES], TARGETS[MOVES], counts[MOVES]), loss="squared")
    assert found.verdict == without.verdict
    assert found.residual == pytest.approx(without.residual, rel=1e-12)
    at_zero = 0.5 * 2.0 * 0.5**2
    assert found.loss == pytest.approx(without.loss + at_zero, rel=1e-12)
    assert found.least_loss == pytest.approx(without.least_loss + at_zero, rel=1e-12)
    assert found.duals.shape == (4, 2)


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
@pytest.mark.parametrize("seed", range(3))
def test_a_sample_of_zeros_adds_its_loss_with_weight_decay(seed: int, loss: str) -> None:
    net, y = network(seed), TARGETS if loss == "squared" else CLASSES
    found = rf.certify(net, (X, y), loss=loss, weight_decay=0.1)
    without = rf.certify(net, (X[MOVES], y[MOVES]), loss=loss, weight_decay=0.1)
    at_zero = 0.5 * 0.5**2 if loss == "squared" else np.log(2.0)
    assert found.verdict == without.verdict
    assert found.residual == pytest.approx(without.residual, rel=1e-12)
    for name in ("value", "lower", "upper"):
        assert getattr(found, name) == pytest.approx(getattr(without, name) + at_zero, rel=1e-9)


def test_no_margin_holds_at_a_sample_of_zeros() -> None:
    assert rf.certify(network(0), (X, CLASSES), loss="cross_entropy").verdict == "not_kkt"


@pytest.mark.filterwarnings("error")
def test_a_run_beside_a_sample_of_zeros_has_its_limit_and_its_certificate() -> None:
    start = rf.Network.init(6, 2, outputs=2, scale=1e-2, seed=0)
    run = rf.integrate((X, TARGETS), start, loss="squared", until=rf.Stop(limit=True))
    assert run.limit.certified, run.limit.reason
    found = rf.certify(run, run.data)
    assert found.loss == pytest.approx(0.5 * 0.5**2, rel=1e-9)
    assert found.least_loss == pytest.approx(0.5 * 0.5**2, rel=1e-12)


def test_nothing_is_certified_of_zeros_alone() -> None:
    with pytest.raises(ValueError, match="data must have a sample that counts and is not zero"):
        rf.certify(network(0), (np.zeros((2, 2)), TARGETS[:2]), loss="squared")
