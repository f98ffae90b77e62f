"""At a loose tolerance a neuron that leaves a boundary and comes back within the step is seen to come back."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from toys import digits_like

X = np.array(
    [
        [0.63, -1.74], [0.56, -2.02], [0.81, 0.03], [-0.49, -2.01], [-1.88, 1.08], [1.47, 0.28], [-0.34, -1.49],
        [0.11, 0.26], [0.09, -1.04], [-0.27, 0.01], [-1.73, 0.21], [0.01, -1.65], [0.46, 0.74], [-0.38, -0.48],
        [-0.15, 1.46],
    ]
)  # fmt: skip
y = np.array([-1.0, -1, 1, -1, -1, -1, 1, 1, 1, 1, 1, -1, -1, -1, -1])
net = rf.Network([[-0.6, -0.8], [0.34, -0.94], [0.27, -0.96], [1.0, 0.04]], [-1.0, 1.0, 1.0, 1.0])


def events(sol: rf.Solution) -> list[tuple[int, int, str]]:
    return [(int(event.neuron), int(event.sample), str(event.kind)) for event in sol.events]


@pytest.mark.parametrize("rtol", [1e-2, 1e-3, 1e-4, 1e-5])
def test_a_neuron_that_comes_back_in_the_step_slides_again(rtol: float) -> None:
    """Neuron 2 leaves sample 5 at t = 0.123, at a rate that grows from zero, and is back at 0.164. The way between is
    less than the last terms of a loose series, and was taken for none: the next step found it beyond its boundary."""
    sol, tight = (rf.integrate((X, y), net, until=1.0, rtol=r) for r in (rtol, 1e-11))
    assert sol.status == "reached_time"
    assert events(sol) == events(tight)
    assert sol.events.t == pytest.approx(tight.events.t, rel=10 * rtol)
    np.testing.assert_allclose(sol.final.W, tight.final.W, atol=rtol)


@pytest.mark.parametrize(("seed", "time"), [(3718, 30.0), (17961, 30.0)])
def test_a_loose_run_does_not_end_where_neurons_come_back(seed: int, time: float) -> None:
    rng = np.random.default_rng(seed)
    n, d, m = int(rng.integers(6, 20)), int(rng.integers(2, 4)), int(rng.integers(2, 6))
    inputs, labels = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)
    start = rf.Network.init(m, d, scale=1.0, seed=seed, leak=0.1)
    sol, tight = (rf.integrate((inputs, labels), start, until=time, rtol=r) for r in (1e-3, 1e-9))
    assert sol.status == "reached_time"
    np.testing.assert_allclose(sol.final(inputs), tight.final(inputs), rtol=1e-2, atol=1e-2)


def test_looser_than_a_thousandth_is_a_thousandth():
    """Looser steps were longer, and took more time: distances beside boundaries then ask for more orders."""
    data, start = digits_like(n=30, d=6, width=12)
    runs = [rf.integrate(data, start, until=5.0, rtol=rtol) for rtol in (0.3, 1e-2, 1e-3, 1e-4)]
    assert runs[0].final == runs[1].final == runs[2].final != runs[3].final
    assert runs[0](2.5) == runs[2](2.5)
    assert [run.settings.rtol for run in runs] == [0.3, 1e-2, 1e-3, 1e-4]


def test_so_it_is_of_layers():
    data = rf.datasets.orthogonally_separable(6, 3, seed=0)
    deep = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(1)], dim=3, scale=0.3, seed=0)
    loose, fine = (rf.integrate(data, deep, until=3.0, rtol=rtol) for rtol in (0.3, 1e-3))
    assert loose.final == fine.final
    assert loose(1.3) == fine(1.3)
