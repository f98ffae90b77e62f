/// The balance of units: restored without changing what the network computes, and what a step may not do to it.
#include "layered/balance.hpp"

#include <cmath>

#include "check.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;

/// Two inputs, two units, one output: θ = (w_1, w_2, a_1, a_2), with w_j of two entries.
Graph two_layers() {
    std::vector<Node> nodes(3);
    nodes[0].size = 2;
    nodes[1].size = 2;
    nodes[1].linear = false;
    nodes[2].size = 1;
    Edge in;
    in.source = 0;
    in.target = 1;
    in.rows = in.cols = 2;
    in.parameter = {0, 1, 2, 3};
    in.has_parameters = true;
    Edge out;
    out.source = 1;
    out.target = 2;
    out.rows = 1;
    out.cols = 2;
    out.parameter = {4, 5};
    out.has_parameters = true;
    return Graph(std::move(nodes), {in, out}, 6);
}

Vector start() {
    Vector theta(6);
    theta << 3.0, 4.0, 1.0, 2.0, -5.0, 1.0;  // the first unit is in balance, of the second more enters than leaves
    return theta;
}

void restored_units_have_their_difference_and_the_same_product() {
    const Graph graph = two_layers();
    const Balance balance(graph, start(), {}, 0.0, {});
    for (const double shrunk : {1.0, 1e-8, 1e-100}) {
        Vector theta = start();
        theta[0] *= shrunk * (1.0 + 1e-6);
        theta[1] *= shrunk;
        theta[4] *= shrunk * (1.0 - 1e-5);
        theta[5] *= 1.001;
        const Vector before = theta;
        balance.restore(theta, 1.0);
        CHECK(std::abs(std::hypot(theta[0], theta[1]) / std::abs(theta[4]) - 1.0) < 1e-14);
        CHECK(std::abs(theta[2] * theta[2] + theta[3] * theta[3] - theta[5] * theta[5] - 4.0) < 1e-13);
        for (const int entry : {0, 1})
            CHECK(std::abs(theta[entry] * theta[4] / (before[entry] * before[4]) - 1.0) < 1e-14);
        for (const int entry : {2, 3})
            CHECK(std::abs(theta[entry] * theta[5] / (before[entry] * before[5]) - 1.0) < 1e-14);
    }
}

void a_part_that_moves_keeps_its_own_difference() {
    const Graph graph = two_layers();
    Vector theta = start();
    theta[4] = -4.0;  // balanced with w_2 of the first unit, beside w_1
    const Vector first = theta;
    Balance balance(graph, first, {}, 0.0, {});
    Vector rate = Vector::Ones(6);
    rate[0] = 0.0;
    balance.see(rate);
    theta[1] = 4e-10;
    theta[4] = -5e-10;
    balance.restore(theta, 1.0);
    CHECK(theta[0] == 3.0);
    CHECK(std::abs(theta[1] / -theta[4] - 1.0) < 1e-15);
    CHECK(std::abs(theta[1] * theta[4] / -2e-19 - 1.0) < 1e-14);
    Vector over = theta;
    over[4] = 1e-12;
    CHECK(!balance.are_followed(theta, over, {}));
}

void what_is_in_balance_is_left_alone() {
    const Graph graph = two_layers();
    const Balance balance(graph, start(), {}, 0.0, {});
    Vector theta = start();
    balance.restore(theta, 1.0);
    CHECK((theta.array() == start().array()).all());
}

void with_weight_decay_differences_fall_by_twice_its_rate() {
    const Graph graph = two_layers();
    const Balance balance(graph, start(), Vector::Constant(6, 0.1), 2.0, {});
    Vector theta = start() * std::exp(-0.5);
    const Vector decayed = theta;
    balance.restore(theta, 7.0);
    CHECK((theta.array() == decayed.array()).all());
    theta[5] *= 1.001;
    theta[4] *= 1.001;
    balance.restore(theta, 7.0);
    CHECK(std::abs(theta[2] * theta[2] + theta[3] * theta[3] - theta[5] * theta[5] - 4.0 * std::exp(-1.0)) < 1e-13);
    CHECK(std::abs(std::hypot(theta[0], theta[1]) / std::abs(theta[4]) - 1.0) < 1e-14);
    Vector differences;
    balance.read(7.0, differences);
    CHECK(differences[0] == 0.0);
    CHECK(std::abs(differences[1] - 4.0 * std::exp(-1.0)) < 1e-14);
}

void a_unit_that_decays_at_two_rates_has_no_balance() {
    const Graph graph = two_layers();
    Vector decay = Vector::Constant(6, 0.1);
    decay[5] = 0.2;
    const Balance balance(graph, start(), decay, 0.0, {});
    Vector theta = start();
    theta[5] *= 2.0;
    const Vector moved = theta;
    balance.restore(theta, 1.0);
    CHECK((theta.array() == moved.array()).all());
}

void a_step_may_not_turn_over_what_the_balance_keeps_from_zero() {
    const Graph graph = two_layers();
    const Balance balance(graph, start(), {}, 0.0, {});
    Vector end = start();
    CHECK(balance.are_followed(start(), end, {}));
    end[5] = -1.0;  // more enters the second unit than leaves it: what leaves may pass through zero
    CHECK(balance.are_followed(start(), end, {}));
    end[4] = 5.0;
    CHECK(!balance.are_followed(start(), end, {}));
}

void what_is_missed_counts_beside_the_unit_itself() {
    const Graph graph = two_layers();
    const Balance balance(graph, start(), {}, 0.0, {});
    Vector end = start();
    end.head(2) *= 1e-12;
    end[4] *= 1e-12;
    Vector missed = Vector::Zero(6);
    missed[2] = 1e-6;
    CHECK(balance.are_followed(start(), end, missed));
    missed[4] = 1e-13;
    CHECK(!balance.are_followed(start(), end, missed));
}

// An output weight that another unit reads as its bias is no unit's own.
void a_weight_that_is_a_bias_too_has_no_balance() {
    Graph plain = two_layers();
    std::vector<Node> nodes = plain.nodes();
    for (Node& node : nodes) {
        node.incoming.clear();
        node.outgoing.clear();
    }
    nodes[1].bias = {-1, 4};
    const Graph graph(std::move(nodes), plain.edges(), 6);
    Vector differences;
    Balance(graph, start(), {}, 0.0, {}).read(0.0, differences);
    CHECK(differences.size() == 0);
}

}  // namespace

int main() {
    a_weight_that_is_a_bias_too_has_no_balance();
    restored_units_have_their_difference_and_the_same_product();
    a_part_that_moves_keeps_its_own_difference();
    what_is_in_balance_is_left_alone();
    with_weight_decay_differences_fall_by_twice_its_rate();
    a_unit_that_decays_at_two_rates_has_no_balance();
    a_step_may_not_turn_over_what_the_balance_keeps_from_zero();
    what_is_missed_counts_beside_the_unit_itself();
    return tests::failures();
}
