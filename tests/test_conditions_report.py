"""Conditions on the start, and the report: which theorems apply and what they predict."""

import math

import numpy as np
import pytest

import reluflow as rf

conditions = rf.conditions
OBTUSE = rf.datasets.wang_pilanci("obtuse")


def row(report, source):
    return next(theorem for theorem in report.theorems if theorem.source.startswith(source))


def late_margin(data, net):
    """Normalised margin at t = e^200, where it is within about 1e-3 of its limit."""
    final = rf.integrate(data, net, until=rf.Stop(log_time=200.0)).final
    return float((data.y * final(data.X)).min()) / final.norm**2


def test_balance_names_the_neuron_that_is_off():
    verdict = conditions.balance(rf.Network([[3.0, 4.0], [0.0, 1.0], [0.0, 0.0]], [5.0, -1.1, 0.0]))
    assert (verdict.holds, verdict.witness.neuron) == (False, 1)
    assert verdict.value == pytest.approx(0.1 / 1.1)
    assert verdict.witness.difference == pytest.approx([0, 0.21, 0])
    assert verdict.witness.sign_constant


def test_random_starts_are_balanced_as_they_say():
    for seed in range(200):
        assert conditions.balance(rf.Network.init(5, 3, seed=seed)).holds
        loose = conditions.balance(rf.Network.init(5, 3, balanced=False, seed=seed))
        assert not loose.holds
        assert loose.witness.sign_constant == bool((loose.witness.difference >= 0).all())


def test_the_sign_condition_is_the_printed_one_for_every_neuron():
    for seed in range(200):
        leak = [0.0, 0.3][seed % 2]
        data = rf.datasets.orthogonally_separable(5, 3, seed=seed)
        net = rf.Network.init(6, 3, seed=seed, leak=leak)
        expected = []
        for w, a in zip(net.W, net.a, strict=True):
            total = sum(y * max(w @ x, leak * (w @ x)) for x, y in zip(data.X, data.y, strict=True))
            expected.append(bool(np.sign(total) == np.sign(a) != 0))
        witness = conditions.sign_condition(data, net).witness
        assert witness.holds.tolist() == expected
        assert witness.n_positive == sum(e and a > 0 for e, a in zip(expected, net.a, strict=True))


def test_a_dead_neuron_does_not_satisfy_the_sign_condition():
    verdict = conditions.sign_condition(OBTUSE, rf.Network([[-1.0, -1.0], [0.0, 0.0]], [1.0, 1.0]))
    assert verdict.witness.holds.tolist() == [False, False]
    assert (verdict.holds, verdict.value) == (False, 0)


def test_the_fraction_of_neurons_that_satisfy_the_condition_is_that_of_the_angles():
    """yᵀ(Xu)₊ > 0 on the arc where x_1 wins: the half plane of x_1 without the part where x_2 is larger."""
    net = rf.Network.init(40_000, 2, seed=3)
    share = conditions.sign_condition(OBTUSE, net).witness.holds.mean()
    t = np.linspace(0, 2 * np.pi, 400_001)
    scores = np.maximum(np.column_stack((np.cos(t), np.sin(t))) @ OBTUSE.X.T, 0) @ OBTUSE.y
    assert share == pytest.approx(((scores > 0).mean() + (scores < 0).mean()) / 2, abs=0.01)


def test_the_loss_threshold_is_ln_2_for_the_logistic_loss_and_1_for_the_exponential_one():
    dead = rf.Network([[-1.0, 0.0]], [1.0])
    data = rf.Dataset([[1.0, 0.0]], [1])
    logistic = conditions.loss_below_threshold(data, dead)
    assert logistic.value == pytest.approx(math.log(2))
    assert not logistic.holds  # the dead network never converges, though its loss is below the printed 1
    c = rf.datasets.vardi_shamir_srebro("4.3")
    for loss, value in (("logistic", 0.218563), ("exponential", 0.229114)):
        verdict = conditions.loss_below_threshold(c.data, rf.Network(*c.start), loss=loss)
        assert verdict.holds
        assert verdict.value == pytest.approx(value, abs=1e-6)


def test_a_hopeless_margin_gives_an_infinite_loss_without_a_warning():
    net = rf.Network([[1e3, 0.0]], [-1e3])
    assert conditions.loss_below_threshold(rf.Dataset([[1.0, 0.0]], [1]), net, loss="exponential").value == math.inf


def test_the_planar_example_has_a_predicted_global_optimum():
    report = conditions.report(OBTUSE, rf.Network.init(10, 2, seed=1))
    assert row(report, "[WP] Theorem 4").applies is True
    assert row(report, "[WP] Theorem 4").numbers == pytest.approx({"P*": 1.282432, "margin": 0.389884}, abs=1e-6)
    assert row(report, "[PL] Theorem 1").fails == ("support examples span the space",)
    assert row(report, "[WP] Proposition 5").applies is False


def test_a_start_with_one_sign_only_has_no_predicted_optimum():
    net = rf.Network.init(10, 2, seed=1)
    report = conditions.report(OBTUSE, rf.Network(net.W, np.abs(net.a)))
    assert row(report, "[WP] Theorem 4").fails == ("a neuron of each label's sign satisfies (9)",)


def test_the_flow_reaches_what_the_report_predicts_for_the_planar_example():
    net = rf.Network.init(10, 2, scale=1e-4, seed=1)
    predicted = row(conditions.report(OBTUSE, net), "[WP] Theorem 4").numbers["margin"]
    assert late_margin(OBTUSE, net) == pytest.approx(predicted, rel=1e-3)


@pytest.mark.parametrize("panel", ["left", "middle", "right"])
def test_the_flow_reaches_what_the_report_predicts_for_figure_1(panel):
    data = rf.datasets.lyu_figure1(panel)
    net = rf.Network.init(6, data.d, scale=1e-4, leak=0.5, seed=1)
    source = "[LLWA] Theorem 4.3" if panel == "left" else "[LLWA] Theorem A.7"
    predicted = row(conditions.report(data, net), source).numbers["margin"]
    assert late_margin(data, net) == pytest.approx(predicted, rel=1e-3)


def test_the_three_panels_of_figure_1_are_told_apart():
    predicted = {"left": ("[LLWA] Theorem 4.3", 0.375), "middle": ("[LLWA] Theorem A.7", 0.055902)}
    predicted["right"] = ("[LLWA] Theorem A.7", 0.0625)
    for panel, (source, margin) in predicted.items():
        data = rf.datasets.lyu_figure1(panel)
        report = conditions.report(data, rf.Network.init(6, data.d, leak=0.5, seed=1))
        applying = [t.source for t in report.theorems if t.applies and t.source.startswith("[LLWA] Theorem")]
        assert source in applying
        assert row(report, source).numbers["margin"] == pytest.approx(margin, abs=1e-6)
        assert ("[LLWA] Theorem A.7" in applying) == (panel != "left")


def test_flipped_labels_give_the_reversed_theorem():
    data = rf.datasets.lyu_figure1("right")
    flipped = rf.Dataset(data.X, -data.y)
    net = rf.Network.init(6, 2, leak=0.5, seed=1)
    report = conditions.report(flipped, net)
    assert row(report, "[LLWA] Theorem A.7").applies is False
    assert row(report, "[LLWA] Theorem A.10").applies is True
    assert row(report, "[LLWA] Theorem A.10").numbers["margin"] == pytest.approx(0.0625)


def test_without_a_start_theorems_about_starts_stay_open():
    report = conditions.report(OBTUSE)
    assert row(report, "[WP] Theorem 4").applies is None
    assert row(report, "[WP] Theorem 4").undecided == ("a start",)
    assert row(report, "[WP] Proposition 4").applies is True
    assert all("balance" not in verdict.name for verdict in report.conditions)


def test_orthogonally_separable_leaky_flows_do_not_branch():
    data = rf.datasets.orthogonally_separable(6, 3, seed=0)
    balanced = conditions.report(data, rf.Network.init(4, 3, leak=0.5))
    assert row(balanced, "[LLWA] Appendix I.2.1").applies is True
    small_a = conditions.report(data, rf.Network(np.eye(3), [0.5, 1, 1], leak=0.5))
    assert row(small_a, "[LLWA] Appendix I.2.1").fails == ("|a_k| >= |w_k|",)


def test_the_linear_limit_asks_for_both_modes_and_two_neurons():
    data = rf.datasets.lyu_figure1("left")
    one = rf.Network([[0.1, 0.0]], [0.1], leak=0.5)
    fails = row(conditions.report(data, one), "[LLWA] Theorem 4.3").fails
    assert fails == ("width of at least 2", "both signs among μ·w_k/|μ| + a_k")


def test_one_class_alone_needs_one_sign_only():
    data = rf.datasets.wang_pilanci("spike_free")
    report = conditions.report(data, rf.Network([[1.0, 0.0]], [1.0]))
    assert row(report, "[WP] Theorem 4").numbers["P*"] == pytest.approx(0.733582, abs=1e-6)
    assert row(report, "[WP] Proposition 5").applies is True


def test_the_table_prints_every_condition_and_theorem():
    report = conditions.report(OBTUSE, rf.Network.init(10, 2, seed=1))
    text = str(report)
    assert text.startswith("Wang-Pilanci, obtuse (n = 2, d = 2), leak 0, logistic loss, start of width 10")
    assert all(theorem.source in text for theorem in report.theorems)
    assert all(verdict.name in text for verdict in report.conditions)
    assert "fails: spike-free" in text
    assert "P* = 1.28243, margin = 0.389884" in text


def test_the_table_becomes_a_data_frame():
    table = conditions.report(OBTUSE).to_pandas()
    assert list(table.columns) == ["source", "applies", "fails", "undecided", "prediction", "numbers"]
    assert table.applies.tolist().count(None) == sum(t.applies is None for t in conditions.report(OBTUSE).theorems)
    assert len(table) == 11


def test_a_large_real_problem_is_reported_with_what_is_open():
    report = conditions.report(rf.datasets.digits(3, 8), leak=0.5)
    verdicts = {verdict.name: verdict.holds for verdict in report.conditions}
    assert verdicts["linear separability [LLWA, Assumption 3.2]"] is True
    assert verdicts["one sign is not enough [LLWA, Assumption A.5]"] is None


def test_no_theorem_is_on_the_squared_loss_and_each_says_so():
    data = rf.Dataset([[1.0, 0.5], [0.3, -1.0], [2.0, 2.0]], [0.5, -2.0, 0.1])
    found = conditions.report(data, rf.Network.init(4, 2), loss="squared")
    assert len(found.theorems) == len(conditions.report(OBTUSE).theorems)
    assert {row.fails for row in found.theorems} == {("logistic or exponential loss",)}
    assert not any(row.applies is not False or row.numbers for row in found.theorems)
    assert "squared loss" in str(found)
    with pytest.raises(ValueError, match=r"data\.y must hold \+1 and -1 only for the logistic loss"):
        conditions.report(data)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: conditions.report(OBTUSE, rf.Network.init(2, 3)), "net must have 2 inputs, as the data, found 3"),
        (lambda: conditions.report(OBTUSE, [1]), "net must be a Network, found a value of type list"),
        (
            lambda: conditions.report(OBTUSE, rf.Network.init(2, 2), leak=0.5),
            "leak must be left out or equal that of net",
        ),
        (
            lambda: conditions.report(OBTUSE, loss="hinge"),
            "loss must be one of 'logistic', 'exponential', 'squared', found 'hinge'",
        ),
        (lambda: conditions.report("x"), "data must be a Dataset or a MultiClassDataset, found a value of type str"),
        (lambda: conditions.balance(OBTUSE), "net must be a Network, found a value of type Dataset"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
