/// What an event does to other neurons, bounded by the samples' spread, against sets of samples, one by one.
#include "two_layer/spread.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "uniform.hpp"

namespace {

using namespace reluflow;

constexpr Index kSamples = 40;

/// No sum of r_i x_i (x_i·e) over a set of samples exceeds largest() · along(e), and equal samples reach it.
void no_set_of_samples_exceeds_the_bound(Index dimensions, double mean) {
    tests::Uniform uniform;
    Matrix X(kSamples, dimensions);
    Vector y(kSamples);
    Vector q(kSamples);
    for (Index i = 0; i < kSamples; ++i) {
        for (Index x = 0; x < dimensions; ++x) X(i, x) = uniform() + mean;
        y[i] = i % 2 == 0 ? 1.0 : -1.0;
        q[i] = 3.0 * uniform();
    }
    const Dataset data(X, y);
    Waveform waveform(data, {LossKind::logistic, Reduction::sum});
    waveform.start(q, std::vector<char>(kSamples, 1));
    Spread spread(data);
    spread.update(waveform);
    Matrix square = Matrix::Zero(data.rank(), data.rank());
    for (Index i = 0; i < kSamples; ++i) square += waveform.response(i) * data.X().row(i).transpose() * data.X().row(i);
    const double exact = std::sqrt(Eigen::SelfAdjointEigenSolver<Matrix>(square).eigenvalues().maxCoeff());
    const double loose = std::pow(static_cast<double>(data.rank()), 1.0 / 64.0);
    CHECK(spread.largest() >= exact * (1.0 - 1e-12));
    CHECK(spread.largest() <= 1.001 * loose * exact);  // small weights are raised a little
    for (int boundary = 0; boundary < data.n_boundaries(); ++boundary) {
        const Vector e = data.normals().row(boundary).transpose();
        for (int draw = 0; draw < 20; ++draw) {
            Vector sum = Vector::Zero(data.rank());
            for (Index i = 0; i < kSamples; ++i) {
                const double component = data.X().row(i).dot(e);
                const bool takes = draw == 0 ? component > 0.0 : (draw == 1 || uniform() > 0.0);
                if (takes) sum += waveform.response(i) * component * data.X().row(i).transpose();
            }
            CHECK(sum.norm() <= spread.largest() * spread.along(boundary) * (1.0 + 1e-12));
        }
    }
}

}  // namespace

int main() {
    no_set_of_samples_exceeds_the_bound(1, 0.0);
    no_set_of_samples_exceeds_the_bound(3, 0.0);
    no_set_of_samples_exceeds_the_bound(20, 0.0);
    no_set_of_samples_exceeds_the_bound(20, 2.0);
    return tests::failures();
}
