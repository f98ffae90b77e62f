"""Claims hold for every seed, and a wrong constant turns them."""

from __future__ import annotations

import datetime
import random

import pytest

import reluflow as rf
from noticing import notices
from reluflow.papers import Context, Number, Outcome
from reluflow.papers._claim import hindrance, verdict

RUN = [claim for claim in rf.papers.claims() if not hindrance(claim, Context(quick=True))]
# With seed 0, which another test runs with all figures, five seeds; those that failed once are among them.
SEEDS = (2, 4, 5, 7)
# Quick claims take half a second or two each; this many are drawn for the seed of the day.
OF_THE_DAY = 12


class Watched(Context):
    """A context that notes whether the seed was read, and the size that it has."""

    def __getattribute__(self, name: str) -> object:
        if name == "seed":
            object.__getattribute__(self, "__dict__")["asked"] = True
        return super().__getattribute__(name)


def fresh(seed: int) -> Watched:
    context = Watched(quick=True, seed=seed)
    context.__dict__["asked"] = False
    return context


@pytest.mark.thorough
@pytest.mark.parametrize("claim", RUN, ids=[claim.id for claim in RUN])
def test_a_claim_has_its_verdict_for_every_seed(claim):
    for seed in SEEDS:
        context = fresh(seed)
        assert verdict(claim, claim.run(context)) == (claim.expected, ""), f"seed {seed}"
        if not context.__dict__["asked"]:
            return  # nothing is drawn: every seed gives the same


@pytest.mark.parametrize("seed", [739947, 175])
def test_networks_that_begin_to_leave_the_linear_direction_count_as_linear(seed):
    """They stray over 0.1 and 0.3 of what the optimum does, which is not linear: more than 1 % of the picture."""
    assert judged("LLWA-F2", seed) == ("holds", "")


@pytest.mark.parametrize("seed", [739947, 293])
def test_neurons_that_slide_or_leave_a_kkt_point_late_do_not_turn_the_claim_on_alignment(seed):
    """Neurons slide in one; in the other they leave a KKT point at log t = 6e4, for the lemma is on some late times."""
    assert judged("LLWA-S3", seed) == ("holds", "")


@pytest.mark.parametrize("seed", [739945, 739947, 739953])
def test_networks_that_beat_the_svm_by_two_per_cent_in_three_draws_are_nearly_the_same(seed):
    """They do so by one per cent on average, with a standard deviation of one, as in the ten draws that are printed."""
    assert judged("LLWA-T1", seed) == ("holds", "")


def test_a_neuron_that_nearly_died_and_still_turns_counts_by_its_size():
    """Its weights are 0.005 of the largest, and 0.07 radians from the optimum, after the iterations that are drawn."""
    assert judged("WP-F7", 739954) == ("holds", "")


@pytest.mark.parametrize(("name", "seed"), [("WP-F10", 739954), ("WP-F4", 386)])
def test_a_neuron_that_dies_late_or_that_a_step_revives_is_not_among_those_that_stand_still(name, seed):
    """In one, a step takes the output weight of a dying neuron through 0; in the other a neuron dies at t = 750."""
    assert judged(name, seed) == ("holds", "")


def test_a_start_in_which_every_neuron_dies_shows_no_figure():
    """Then nothing turns; the paper's figure has neurons of both kinds."""
    assert judged("WP-F10", 739940) == ("holds", "")


def test_a_teacher_near_an_axis_gets_a_start_that_is_small_enough_for_it():
    """It is 1.7e-4 from one, and λ^(ε/3) is 4.6e-4 at λ = 1e-40: the theorem asks for the contrary."""
    assert judged("CEL-T6", 739959) == ("holds", "")


@pytest.mark.parametrize("seed", [739942, 739946])
def test_a_loss_that_falls_at_two_rates_for_long_is_no_fault(seed):
    """Its rate is still changing by a tenth at a loss of 1e-12, as that of the linear flow does."""
    assert judged("CEL-T6", seed) == ("holds", "")


@pytest.mark.parametrize("name", ["CEL-L5", "CEL-T7"])
def test_a_neuron_that_sees_the_last_input_late_is_aligned_from_a_start_that_is_small_enough(name):
    """It does at t = 14, when from λ = 1e-24 the others are past T₁, and from 1e-7 they are as large as the teacher."""
    assert judged(name, 739950) == ("holds", "")


@pytest.mark.parametrize("seed", [739950, 739958])
def test_deep_networks_that_are_dead_on_every_sample_have_no_rates_to_compare(seed):
    """All their rates are 0, and the largest difference was divided by their sum."""
    assert judged("VSS-LC1", seed) == ("holds", "")


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("LLWA-B", 739955),
        ("LLWA-D2", 739958),
        ("LLWA-D2", 11),
        ("LLWA-E5", 14),
        ("LLWA-F4", 739960),
        ("LLWA-F4", 3),
        ("TK-F2", 13),
        ("WP-P6", 739941),
        ("WP-P6", 739950),
        ("CEL-F1", 41),
    ],
)
def test_a_control_is_not_as_expected_by_chance(name, seed):
    """The theorem held, and what stood for a wrong constant was too near to be told from it."""
    assert judged(name, seed)[0] == next(claim for claim in RUN if claim.id == name).expected


def test_limits_of_random_runs_need_not_be_certified_in_half_of_six():
    """Two of six were, by log t = 1e6; three in four are on average."""
    assert judged("VSS-T2.1", 739945) == ("differs", "")


def test_a_norm_that_grows_like_the_root_of_log_t_from_a_large_start_grows():
    """At log t = 1e4 it is 6 times that of the start, which is large, as its margin is small."""
    assert judged("LLWA-T3.1", 739959) == ("holds", "")


def test_the_law_of_the_norms_of_deep_linear_networks_is_looked_at_late_enough():
    """At log t = 1e3 its exponent is still -1.5, and -2.0003 at 1e4."""
    assert judged("VSS-T3.1", 11) == ("holds", "")


@pytest.mark.parametrize("seed", [17, 25])
def test_symmetric_data_that_are_moved_can_still_be_separated(seed):
    """Else the linear classifier is 0, and the distance from it is divided by its size."""
    assert judged("LLWA-T4.2", seed) == ("holds", "")


@pytest.mark.parametrize("seed", [28, 29])
def test_data_with_supports_that_span_the_space_are_found(seed):
    """Among a thousand draws are none; one in 170 is, in three dimensions."""
    assert judged("PL-T1", seed) == ("holds", "")


@pytest.mark.parametrize("seed", [32, 462])
def test_crossings_are_compared_from_starts_that_are_small_at_the_last_of_them(seed):
    """In one it is at t = 14, where outputs have grown to 0.002; in the other the control met the same samples."""
    assert judged("CEL-L3", seed) == ("holds", "")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20, 739958])
def test_most_neurons_are_near_max_margin_vectors_over_draws_of_the_data(seed):
    """Of these two draws themselves 22 and 44 of 100 are: the sums of their classes are not so near them."""
    assert judged("PL-F1", seed) == ("holds", "")


def test_what_grows_at_the_saddle_is_as_large_as_the_time_between_the_jumps_makes_it():
    """The second jump is a little earlier than from other starts, and f(x₁) half way to it -0.0012."""
    assert judged("BPF-F2", 9) == ("holds", "")


def test_neurons_that_the_flow_has_left_behind_do_not_hide_the_least_norm():
    """At the limit of one network are 27 neurons of 1e-12 and less, and multipliers that suit them suit no fit."""
    assert judged("BPF-N", 1004) == ("holds", "")


def test_each_class_has_a_neuron_that_sees_all_of_it():
    """Of sixty neurons none of one sign did, and the limit had one for each of its samples."""
    assert judged("BPF-N", 2040) == ("holds", "")


def test_samples_of_one_law_are_not_told_apart_by_chance():
    """Three distances were compared with what one exceeds once in a thousand times."""
    assert judged("PL-D46", 34) == ("holds", "")


def test_the_power_of_log_t_is_that_of_the_sum_of_the_neurons():
    """Single neurons keep what their starts have across it, and the power of theirs goes from -1 to -1/2."""
    assert judged("PL-T1", 2034) == ("holds", "")


def test_a_direction_in_a_narrow_cell_is_compared_inside_it():
    """One boundary is 1.6e-4 from it, and directions within 1e-3 were looked at."""
    assert judged("WP-L8", 2280) == ("holds", "")


@pytest.mark.parametrize(
    ("name", "seed"), [("WP-L8", 2051), ("VSS-T4.2-1", 2010), ("VSS-T4.2-1", 1002), ("LLWA-B2", 1006), ("CEL-F1", 1002)]
)
def test_draws_of_what_a_claim_is_about_are_not_wanting(name, seed):
    """Ten sets had two directions, six networks no point without a zero neuron, and of five trials none aligned."""
    assert judged(name, seed) == ("holds", "")


def test_ends_of_trajectories_are_compared_by_the_size_of_the_data():
    """A random w was short, and so was what is between the ends."""
    assert judged("LLWA-I2b", 2156) == ("holds", "")


def test_neurons_end_at_right_angles_to_the_outermost_point_of_a_cloud():
    """It is seen 4.1 degrees from the axis of its cloud, more than the deviation of the cloud."""
    assert judged("TK-E", 1008) == ("holds", "")


@pytest.mark.parametrize("seed", [4002, 4004])
def test_what_has_a_chance_of_one_in_seventy_thousand_may_be_seen_in_two_thousand_draws(seed):
    """Four standard deviations of a frequency are less than one draw there."""
    assert judged("WP-PO-9", seed) == ("holds", "")


def test_a_neuron_that_comes_to_zero_weights_is_not_divided_by():
    """It is in the control, from output weights that are larger than the others."""
    assert judged("WP-L1", 4008) == ("holds", "")


def judged(name: str, seed: int) -> tuple[str, str]:
    claim = next(claim for claim in RUN if claim.id == name)
    return verdict(claim, claim.run(Context(quick=True, seed=seed)))


@pytest.mark.slow
def test_claims_have_their_verdicts_for_the_seed_of_the_day():
    seed = datetime.datetime.now(datetime.UTC).toordinal()
    chosen = random.Random(seed).sample(RUN, OF_THE_DAY)
    print(f"seed of the day: {seed}; claims: {' '.join(claim.id for claim in chosen)}")
    found = {claim.id: verdict(claim, claim.run(Context(quick=True, seed=seed))) for claim in chosen}
    assert found == {claim.id: (claim.expected, "") for claim in chosen}, f"seed {seed}"


def test_a_wrong_constant_is_noticed_or_not():
    assert notices(Number("near", 1.0, 1.0, 0.01))
    assert not notices(Number("wide", 1.0, 1.0, 0.5))
    assert not notices(Number("zero", 0.0, 0.0, 1e-9))
    assert notices(Number("zero with a control", 0.0, 0.0, 1e-9, control=0.1))
    assert not notices(Number("bound", 0.5, 1.0, relation="at_most"))
    assert not notices(Number("truth", True, True))
    assert notices(Number("truth that is printed and false", False, True))
    assert notices(Number("condition of the run", 0.5, 1.0, relation="at_most", source="exact"))
    assert notices(Number("bound and a smaller one", 0.5, 1.0, relation="at_most", wrong=0.4))
    assert not notices(Number("bound and one that is met", 0.5, 1.0, relation="at_most", wrong=0.9))
    assert notices(Number("bound with a control", 0.5, 1.0, relation="at_most", control=1.5))


def test_a_context_that_is_watched_notes_whether_its_seed_is_read():
    context = fresh(3)
    assert context.pick(1, 2) == 1
    assert context.__dict__["asked"] is False
    assert context.seed == 3
    assert context.__dict__["asked"] is True


def test_a_wrong_constant_turns_the_verdict_of_a_claim():
    claim = next(claim for claim in RUN if claim.id == "WP-L7")
    outcome = claim.run(Context(quick=True))
    turned = [
        Number(n.name, n.control, n.expected, n.tolerance, n.relation, n.source) if n.control is not None else n
        for n in outcome.numbers
    ]
    assert verdict(claim, outcome) == ("holds", "")
    assert verdict(claim, Outcome(outcome.ran, tuple(turned)))[0] == "failed"
