"""Whole runs as records: the summary, gradient descent beside the flow, xarray and its files."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray

import reluflow as rf
import runs
from reluflow import analysis


def test_the_error_of_descent_falls_with_its_step():
    sol = runs.planar(seed=1, until=2.0, scale=0.1)
    table = analysis.compare_with_descent(sol, steps=[0.01, 0.005, 0.0025])
    ratios = table["error"].to_numpy()[:-1] / table["error"].to_numpy()[1:]
    np.testing.assert_allclose(ratios, 2.0, rtol=0.1)
    assert (table["n_steps"] == [200, 400, 800]).all()


def test_descent_ends_at_the_time_of_the_flow_though_the_step_does_not_divide_it():
    sol = rf.integrate(rf.Dataset([[1.0]], [1]), rf.Network([[0.1]], [0.1]), until=1.0)
    row = analysis.compare_with_descent(sol, steps=[0.3]).iloc[0]
    assert row["n_steps"] == 4
    assert row["step"] == 0.25
    by_hand = rf.descend(sol.data, sol.initial, step=0.25, n_steps=4)
    assert row["error"] == analysis.relative_error(by_hand.final, sol.final)


def test_a_step_that_is_too_large_is_reported_as_divergence():
    data = rf.Dataset([[10.0]], [-1])
    sol = rf.integrate(data, rf.Network([[1.0]], [1.0], leak=0.5), until=1.0, loss="exponential")
    row = analysis.compare_with_descent(sol, steps=[0.1]).iloc[0]
    assert np.isinf(row["error"])
    assert np.isinf(row["loss"])


def test_steps_beyond_the_limit_are_listed_but_not_run():
    row = analysis.compare_with_descent(runs.planar(), steps=[1e-6], max_steps=1000).iloc[0]
    assert row["status"] == "too_many_steps"
    assert row["n_steps"] == 10**10
    assert np.isnan(row["error"])


def test_suggested_steps_are_powers_of_ten_within_the_budget():
    for sol in (runs.planar(), runs.iris(), runs.digits()):
        large, small = analysis.suggest_steps(sol)
        assert large == pytest.approx(10 * small)
        assert np.log10(small) == pytest.approx(round(np.log10(small)))
        cost = 4.0 * sol.final.width * sol.data.n * sol.data.d + 1.3e5
        assert sol.t_end / small * cost <= 1.3e11


def test_an_endless_run_cannot_be_compared():
    with pytest.raises(ValueError, match="the time that the solution covers must be"):
        analysis.compare_with_descent(runs.endless())


def test_the_summary_counts_what_the_solution_holds():
    sol = runs.holding()
    found = analysis.summarise(sol, analysis.compare_with_descent(sol, steps=[0.1]))
    assert found.t == sol.t_end
    assert found.n_events == len(sol.events) == sum(found.events.values())
    assert found.n_held == (sol.final.pattern == 0).sum()
    assert found.log_loss == pytest.approx(sol.log_loss_end, rel=1e-13)
    assert found.mean_loss == pytest.approx(found.loss / 2)
    assert found.norm == pytest.approx(sol.final.norm)
    assert found.descent[0]["step"] == pytest.approx(0.1)


def test_the_summary_is_plain_data():
    record = analysis.summarise(runs.iris()).to_dict()
    assert json.dumps(json.loads(json.dumps(record))) == json.dumps(record)  # as text, for nan is not itself


def test_the_summary_of_an_endless_run_has_its_log_time():
    found = analysis.summarise(runs.endless())
    assert found.log_t == pytest.approx(1500.0)
    assert found.loss == 0.0
    assert found.log_loss < -1000.0
    assert found.balance_drift < 1e-12


# --- xarray ----------------------------------------------------------------------------------------------------------


def test_the_dataset_has_every_state_and_event_under_its_name():
    sol = runs.holding()
    found = analysis.to_xarray(sol)
    assert dict(found.sizes) == {"time": len(sol.t), "neuron": 12, "input": 2, "sample": 2, "event": 14}
    np.testing.assert_array_equal(found["W"], sol.W)
    np.testing.assert_array_equal(found["pattern"][-1], sol.final.pattern)
    kinds = found["event_kind"].attrs["flag_meanings"].split()
    assert [kinds[code] for code in found["event_kind"].to_numpy()] == sol.events.kind.tolist()
    assert all("units" in found[name].attrs for name in found.variables)
    assert json.loads(found.attrs["stats"])["n_events"] == 14


@pytest.mark.parametrize("run", [runs.holding, runs.endless], ids=["held", "endless"])
def test_netcdf_gives_back_the_same_dataset_bit_for_bit(run, tmp_path):
    found = run().to_xarray()
    found.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as read:
        xarray.testing.assert_identical(found, read.load())
        assert {name: read[name].dtype for name in read.variables} == {n: found[n].dtype for n in found.variables}


def test_the_dataset_of_a_solution_says_how_it_was_made():
    sol = runs.holding()
    found = sol.to_xarray()
    xarray.testing.assert_identical(found, analysis.to_xarray(sol))
    assert found.attrs["version"] == rf.__version__
    assert found.attrs["until"] == str(sol.settings.until)
    assert (found.attrs["rtol"], found.attrs["atol"], found.attrs["on_branch"]) == (1e-9, 0.0, "inactive")
    np.testing.assert_array_equal(found["log_loss"], sol.log_loss)


def test_the_dataset_at_other_times_has_the_states_and_patterns_of_these_times():
    sol = runs.holding()
    found = analysis.to_xarray(sol, [0.5, 1.5])
    for k, t in enumerate((0.5, 1.5)):
        np.testing.assert_array_equal(found["W"][k], sol(t).W)
        np.testing.assert_array_equal(found["pattern"][k], sol.pattern(t))


def test_zarr_gives_back_the_same_dataset_bit_for_bit(tmp_path):
    found = analysis.to_xarray(runs.holding(), [0.0, 1.0, 2.0])
    found.to_zarr(tmp_path / "run.zarr", consolidated=False)
    with xarray.open_zarr(tmp_path / "run.zarr", consolidated=False) as read:
        xarray.testing.assert_identical(found, read.load())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda s, net: analysis.distance_to_linear(net, direction=[1.0]),
            "direction must have 2 entries, as the rows",
        ),
        (lambda s, net: analysis.decision_plane(s.data, net, extent=-1.0), "extent must be a finite number above 0"),
        (lambda s, net: analysis.decision_plane(s.data, net, extent=[1.0]), "extent must be a finite number above 0"),
        (lambda s, net: analysis.compare_with_descent(s, steps=0.1), r"steps must have the shape \(k,\)"),
        (lambda s, net: analysis.extremal_from(s.data, np.eye(2), [1]), "signs must have one sign for each of the 2"),
        (lambda s, net: analysis.extremal_from(s.data, np.eye(3), [1] * 3), "directions must have rows of 2 entries"),
        (lambda s, net: analysis.relative_error(net, rf.Network([[1.0]], [1.0])), "net must have 1 neurons of dim 1"),
    ],
)
def test_arguments_that_do_not_fit_are_named(call, message):
    sol = runs.planar(seed=1, until=2.0, scale=0.1)
    with pytest.raises(ValueError, match=message):
        call(sol, sol.final)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_a_sample_of_weight_zero_is_in_no_margin_error_or_count_of_wrong_samples(loss):
    X = np.array([[1.0, 0.2], [0.1, 1.0], [-0.9, -0.8], [0.9, 0.4]])
    data = rf.Dataset(X, [1, -1, 1, -1], weights=[1, 1, 1, 0])  # the last is close to the first, of the other label
    start = rf.Network.init(8, 2, seed=1, scale=0.1)
    with_it = rf.integrate(data, start, until=50.0, loss=loss)
    without = rf.integrate(rf.Dataset(X[:3], data.y[:3]), start, until=50.0, loss=loss)
    assert with_it.final(X)[3] > 0.1  # it is wrong, and has the largest error
    one, two = analysis.summarise(with_it), analysis.summarise(without)
    assert one.n_wrong == two.n_wrong == 0
    assert one.min_margin == pytest.approx(two.min_margin, rel=1e-6)
    np.testing.assert_allclose(one.largest_error, two.largest_error, atol=1e-6)  # nan of labels alone
