/// One sector against its neurons, each moved by its own series.
#include <cmath>
#include <vector>

#include "allocations.hpp"
#include "check.hpp"
#include "two_layer/sector.hpp"

namespace {

using namespace reluflow;

constexpr Index kRank = 5;
constexpr Index kNeurons = 40;
constexpr int kOrder = 12;
constexpr double kStep = 0.1;
/// Sums of 40 neurons of size one, and series of a dozen terms.
constexpr double kTolerance = 1e-12;

/// Order k of w and of a for every neuron, by the definition: w' = H a g, a' = H w·g.
struct Neurons {
    std::vector<Matrix> w;  // (r, m) of each order
    std::vector<Vector> a;
};

Neurons by_definition(const Matrix& w, const Vector& a, const Matrix& g) {
    Neurons made{{w}, {a}};
    for (int k = 0; k < kOrder; ++k) {
        Matrix next_w = Matrix::Zero(kRank, w.cols());
        Vector next_a = Vector::Zero(w.cols());
        for (int l = 0; l <= k; ++l) {
            next_w += g.row(k - l).transpose() * made.a[l].transpose();
            next_a += made.w[l].transpose() * g.row(k - l).transpose();
        }
        made.w.push_back(kStep / (k + 1) * next_w);
        made.a.push_back(kStep / (k + 1) * next_a);
    }
    return made;
}

void evaluate_at(const Neurons& neurons, double u, Matrix& w, Vector& a) {
    w = neurons.w[kOrder];
    a = neurons.a[kOrder];
    for (int k = kOrder - 1; k >= 0; --k) {
        w = w * u + neurons.w[k];
        a = a * u + neurons.a[k];
    }
}

void expand(Sector& sector, const Matrix& g) {
    sector.restart();
    for (int k = 0; k < kOrder; ++k) {
        const Vector gradient = g.row(k).transpose();
        sector.push(gradient, kStep);
    }
}

Sector sector_of(const Matrix& w, const Vector& a) {
    Sector sector(kRank);
    Matrix rows(w.cols(), kRank + 1);
    rows.leftCols(kRank) = w.transpose();
    rows.col(kRank) = a;
    sector.clear();
    sector.add(rows.topRows(15));
    sector.add(rows.bottomRows(w.cols() - 15));
    sector.close();
    return sector;
}

/// A gradient whose terms fall like those of a step that truncation allows.
Matrix falling() {
    Matrix g = Matrix::Random(kOrder, kRank);
    for (int k = 0; k < kOrder; ++k) g.row(k) *= std::pow(0.05, k);
    return g;
}

struct Problem {
    Matrix w = Matrix::Random(kRank, kNeurons);
    Vector a = Vector::Random(kNeurons);
    Matrix g = falling();
};

void the_sums_are_those_of_the_neurons() {
    const Problem p;
    const Neurons neurons = by_definition(p.w, p.a, p.g);
    Sector sector = sector_of(p.w, p.a);
    const long before = tests::allocations();
    expand(sector, p.g);
    CHECK(tests::allocations() == before + kOrder);  // the gradients that this test hands over
    for (int k = 0; k <= kOrder; ++k) {
        Vector moment = Vector::Zero(kRank);
        for (int l = 0; l <= k; ++l) moment += neurons.w[k - l] * neurons.a[l];
        CHECK((sector.moment(k).transpose() - moment).norm() < kTolerance * (1.0 + moment.norm()));
    }
    Matrix w(kRank, kNeurons);
    Vector a(kNeurons);
    evaluate_at(neurons, 0.8, w, a);
    double square = 0.0;
    Vector moment(kRank);
    Matrix second(kRank, kRank);
    sector.sums_at(0.8, square, moment, second);
    // Products of two series of this order, cut at it: the terms beyond are what is left.
    constexpr double kTruncated = 1e-10;
    CHECK(std::abs(square - a.squaredNorm()) < kTruncated);
    CHECK((moment - w * a).norm() < kTruncated);
    CHECK((second - w * w.transpose()).norm() < kTruncated);
}

void a_neuron_has_its_own_series_and_its_bounds_hold() {
    const Problem p;
    const Neurons neurons = by_definition(p.w, p.a, p.g);
    Sector sector = sector_of(p.w, p.a);
    expand(sector, p.g);
    for (Index j = 0; j < kNeurons; ++j) {
        Matrix w(kOrder + 1, kRank);
        Vector a(kOrder + 1);
        w.row(0) = p.w.col(j).transpose();
        a[0] = p.a[j];
        sector.expand(w.data(), a.data());
        const double size = std::hypot(p.w.col(j).norm(), p.a[j]);
        double path = 0.0;
        for (int k = 0; k <= kOrder; ++k) {
            CHECK((w.row(k).transpose() - neurons.w[k].col(j)).norm() < kTolerance);
            CHECK(std::abs(a[k] - neurons.a[k][j]) < kTolerance);
            CHECK(std::hypot(w.row(k).norm(), a[k]) <= sector.growth(k) * size * (1.0 + kTolerance));
            if (k > 0) path += w.row(k).norm() * std::pow(0.6, k);
        }
        CHECK(path <= sector.path(p.w.col(j).norm(), p.a[j], 1, 0.6) * (1.0 + kTolerance));
    }
}

/// Neurons as the columns of a block, with zeros beside them.
Matrix block_of(const Matrix& w, const Vector& a) {
    Matrix block = Matrix::Zero(kRank + 1, kBlockColumns);
    block.topLeftCorner(kRank, w.cols()) = w;
    block.row(kRank).head(w.cols()) = a.transpose();
    return block;
}

void move(const Sector& sector, Matrix& w, Vector& a) {
    std::vector<double> work(Sector::work_size(kRank));
    Matrix block = block_of(w, a);
    sector.move(block.data(), work.data());
    w = block.topLeftCorner(kRank, w.cols());
    a = block.row(kRank).head(w.cols()).transpose();
}

void equal_neurons_stay_equal_wherever_they_stand() {
    Problem p;
    for (const Index copy : {1, 15, 16, 17, 38}) {
        p.w.col(copy) = p.w.col(0);
        p.a[copy] = p.a[0];
    }
    Sector sector = sector_of(p.w, p.a);
    expand(sector, p.g);
    sector.set_end(0.9);
    Matrix w = p.w;
    Vector a = p.a;
    move(sector, w, a);
    for (const Index copy : {1, 15, 16, 17, 38}) {
        CHECK(w.col(copy) == w.col(0));
        CHECK(a[copy] == a[0]);
    }
}

void the_map_moves_every_neuron() {
    const Problem p;
    const Neurons neurons = by_definition(p.w, p.a, p.g);
    Sector sector = sector_of(p.w, p.a);
    expand(sector, p.g);
    Matrix expected_w;
    Vector expected_a;
    for (const double u : {1e-3, 0.4, 1.0}) {
        evaluate_at(neurons, u, expected_w, expected_a);
        Matrix w = p.w;
        Vector a = p.a;
        sector.set_end(u);
        move(sector, w, a);
        CHECK((w - expected_w).norm() < 10.0 * kTolerance);
        CHECK((a - expected_a).norm() < 10.0 * kTolerance);
    }
}

/// Two steps carried and then led are two steps moved.
void what_is_carried_is_moved_later() {
    const Problem p;
    const Matrix later = falling();
    Sector moved = sector_of(p.w, p.a);
    Sector carried = sector_of(p.w, p.a);
    Matrix w = p.w;
    Vector a = p.a;
    expand(moved, p.g);
    moved.set_end(0.3);
    move(moved, w, a);
    moved = sector_of(w, a);
    expand(moved, later);
    moved.set_end(0.2);
    move(moved, w, a);

    expand(carried, p.g);
    carried.start_carry();
    carried.carry(0.3);
    expand(carried, later);
    for (int k = 0; k <= kOrder; ++k) CHECK((carried.moment(k) - moved.moment(k)).norm() < 100.0 * kTolerance);
    carried.carry(0.2);
    Matrix led = block_of(p.w, p.a);
    std::vector<double> work(Sector::work_size(kRank));
    carried.lead(led.data(), work.data());
    CHECK((led - block_of(w, a)).norm() < 10.0 * kTolerance);
}

}  // namespace

int main() {
    the_sums_are_those_of_the_neurons();
    a_neuron_has_its_own_series_and_its_bounds_hold();
    the_map_moves_every_neuron();
    equal_neurons_stay_equal_wherever_they_stand();
    what_is_carried_is_moved_later();
    return tests::failures();
}
