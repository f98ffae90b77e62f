"""Integer data with repeats, opposite rows and relabelled ones: the flow is obeyed, and its symmetries are kept."""

from __future__ import annotations

import numpy as np
import pytest

import compare
import defect
import hostile
import reluflow as rf

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_runs_on_ties_obey_the_flow(seed):
    sol = hostile.problem("ties", seed).run()
    assert sol.success, sol.message
    defect.assert_small(sol, 1e-6, max_intervals=8)


@pytest.mark.parametrize("seed", SEEDS)
def test_opposite_labels_and_outputs_move_alike(seed):
    problem = hostile.problem("ties", seed)
    net = rf.Network(problem.net.W, -problem.net.a, leak=problem.net.leak)
    there = problem.run()
    back = rf.integrate(rf.Dataset(problem.data.X, -problem.data.y), net, until=problem.until, **problem.options)
    assert there.events.sample.tolist() == back.events.sample.tolist()
    compare.assert_same_state(back.final.W, -back.final.a, there.final.W, there.final.a, 1e-6, "at the end")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mean_is_the_sum_in_another_time(seed):
    problem = hostile.problem("ties", seed)
    n, t = problem.data.n, float(problem.until.time)
    of_sum = problem.run(until=t, reduction="sum")
    of_mean = problem.run(until=n * t, reduction="mean")
    compare.assert_same_state(of_mean.final.W, of_mean.final.a, of_sum.final.W, of_sum.final.a, 1e-6, "at the end")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_cut_at_one_of_its_events_and_kept_in_a_file_goes_on(tmp_path, seed):
    problem = hostile.problem("ties", seed)
    whole = problem.run()
    inside = whole.events.t[(whole.events.t > 0) & (whole.events.t < whole.t_end)]
    cut = float(inside[len(inside) // 2]) if len(inside) else 0.5 * whole.t_end
    front = problem.run(until=cut)
    front.save(tmp_path / "front.npz")
    rest = rf.integrate(problem.data, rf.load(tmp_path / "front.npz"), until=problem.until, **problem.options)
    assert rest.status == whole.status
    compare.assert_same_state(rest.final.W, rest.final.a, whole.final.W, whole.final.a, 1e-6, "at the end")
    assert np.isclose(rest.log_loss_end, whole.log_loss_end, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-8, 1e-9, 3e-10])
def test_neurons_that_are_multiples_of_each_other_cross_together_in_late_steps(rtol):
    """Three neurons start at w = 0, so that w and a stay the first output weight times the same vector.

    They come to a boundary where the loss stalls, at a rate of 1e-8. A late step ended at the first of the three
    crossings, which rounding puts 1e-16 apart; the neuron that had crossed then grew, and turned the others back.
    """
    problem = hostile.problem("contradictory_part", 757, log_t=12.0)
    assert [*np.flatnonzero(~problem.net.W.any(axis=1))] == [0, 1, 3, 4]
    together = [0, 1, 4]
    size = problem.net.a[together]
    options = {**problem.options, "rtol": rtol}
    whole = rf.integrate(problem.data, problem.net, until=problem.until, **options)
    first = rf.integrate(problem.data, problem.net, until=rf.Stop(log_time=8.0), **options)
    for sol in (whole, rf.integrate(problem.data, first, until=problem.until, **options)):
        assert sol.status == "reached_log_time"
        w, a = sol.final.W[together] / size[:, None], sol.final.a[together] / size
        assert np.max(np.abs(w - w[0])) <= 1e-11 * np.max(np.abs(w))
        assert np.max(np.abs(a - a[0])) <= 1e-11 * a[0]
        late = sol.events.log_t > 11.0
        assert set(sol.events.sample[late]) == {3, 6, 11, 15}
        for sample in (3, 6, 11, 15):
            crossing = late & (sol.events.sample == sample)
            assert sorted(sol.events.neuron[crossing]) == together
            assert len(set(sol.events.t[crossing])) == 1


@pytest.mark.parametrize("rtol", [1e-9, 1e-11, 3e-13, 1e-13])
def test_neurons_that_are_multiples_of_each_other_cross_together_in_explicit_steps(rtol):
    """Neurons 1 and 3 start at w = 0, too; they leave two boundaries and cross others at log t = 314.

    The step ended behind the first of two crossings that rounding sets apart, and the second neuron did not follow.
    """
    problem = hostile.problem("late_bias", 65)
    assert not problem.net.W[[1, 3]].any()
    size = problem.net.a[[1, 3]]
    sol = rf.integrate(problem.data, problem.net, until=rf.Stop(log_time=400.0), **{**problem.options, "rtol": rtol})
    assert sol.status == "reached_log_time"
    w, a = sol.final.W[[1, 3]] / size[:, None], sol.final.a[[1, 3]] / size
    assert np.max(np.abs(w[1] - w[0])) <= 1e-11 * np.max(np.abs(w))
    assert abs(a[1] - a[0]) <= 1e-11 * abs(a[0])
