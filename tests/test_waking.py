"""A sample that drives no neuron keeps its weight while all others fall, and may be met late: it dwarfs them then."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification

import reluflow as rf

NEURON, SAMPLE = 7, 5


def test_a_sample_that_drove_nobody_is_met_late() -> None:
    """At log t = 46.7 its weight is 1e21 times all others, and the neuron that meets it is elsewhere at once.

    Events of that instant were looked for on the scale of the step before, in which they have no distance, and the
    run ended with a neuron on the wrong side.
    """
    X, labels = make_classification(60, n_features=6, n_informative=3, flip_y=0.15, random_state=7)
    data = rf.Dataset(np.c_[X, np.ones(60)], 2.0 * labels - 1.0)
    net = rf.Network.init(30, 7, scale=1e-2, seed=7)
    sols = [rf.integrate(data, net, until=rf.Stop(log_time=60.0), rtol=rtol) for rtol in (1e-9, 1e-11)]
    for sol in sols:
        assert sol.status == "reached_log_time", sol.message
        met = [event for event in sol.events if event.sample == SAMPLE and event.log_t > 30]
        assert [(event.neuron, event.kind) for event in met] == [(NEURON, "cross_up")]
        assert abs(met[0].log_t - 46.66881) < 1e-5
        margins = data.y * sol.final(data.X)
        assert margins[SAMPLE] > 50
    assert (sols[0].final.pattern == sols[1].final.pattern).all()
    assert np.linalg.norm(sols[0].final.theta - sols[1].final.theta) < 1e-8 * sols[1].final.norm
