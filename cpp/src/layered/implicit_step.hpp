/// A step near rest, where the loss has a finite minimum: explicit series follow the fastest direction of the Hessian
/// there, in steps like one over its curvature, while all that still moves does so along the slowest.
#pragma once

#include <limits>
#include <vector>

#include "base/interrupt.hpp"
#include "base/types.hpp"
#include "layered/jet.hpp"
#include "numeric/decompositions.hpp"
#include "numeric/radau_nodes.hpp"

namespace reluflow::layered {

/// Unknowns: θ at the Radau nodes of (0, 1], for one activity, with what slides held. Newton's method is simplified:
/// the Hessian where the step begins, or began before, is symmetric in the time that goes on as it does there, so that
/// its eigenvectors make the equations fall apart into six unknowns for each. Lengths are spans of that time.
class ImplicitStep {
  public:
    ImplicitStep(const Graph& graph, const Matrix& X, const DualSeries& duals, double rtol);

    /// Reads a state. False if no such step can be taken here.
    bool start(const Vector& theta, const Activity& activity);
    /// |θ'| there, in the unit of explicit steps.
    double velocity() const noexcept { return velocity_.norm(); }
    /// True if curvature limits an explicit step of this length, rather than what it has to follow. As the next one it
    /// throws Abandoned if `interrupt` wants it.
    bool is_stiff(double length, Interrupt& interrupt);
    /// After that: true if all velocities are rounding, but for what is too small to be seen and falls, and nothing
    /// grows out of it; or if all that decays is as good as over, and the rest is rounding. As is_stiff().
    bool stands(Interrupt& interrupt);
    /// A step of this length in which nothing moves.
    void stand(Jet& jet, double length) const;
    /// Tries a step from there. On success the jet holds its series. `is_exact`: Newton's method goes on as long as it
    /// gains anything.
    bool expand(Jet& jet, double length, bool is_exact, Interrupt& interrupt);
    /// The last step was such a one.
    bool is_exact() const noexcept { return is_exact_; }
    double length() const noexcept { return length_; }
    double next_length() const noexcept { return next_length_; }
    /// Squared orders of the series that would have cost what the last call did.
    double work() const noexcept { return work_; }
    /// It could not be much longer, as rounding would move θ by more than the tolerance.
    bool is_limited_by_rounding() const noexcept { return 2.0 * length_ >= longest_by_rounding(); }
    /// Reports that the step was taken.
    void taken();
    /// The activity has changed.
    void forget() {
        has_modes_ = false;
        missed_before_ = {};
        come_at_ = std::numeric_limits<double>::infinity();
    }

  private:
    /// The eigenvectors and eigenvalues of the derivative of the velocity, and where they are those. Parameters of
    /// different blocks hardly feel each other, and no eigenvector has a part in both.
    struct Modes {
        SymmetricModes all;
        std::vector<int> block;  // of each parameter
        int blocks = 0;
        Vector theta;
        Matrix duals;
        double speed = 0.0;  // |θ'|
        double log_unit = 0.0;
    };

    bool evaluate(const Vector& theta, bool at_event);
    bool evaluate_nodes(Interrupt& interrupt);
    bool find_modes(const Vector& theta, Interrupt& interrupt);
    void split(Eigen::MatrixXd& derivative);
    Vector largest_by_block(const Vector& values) const;
    void measure_blocks();
    bool know(const Vector& theta, const Matrix& duals, Interrupt& interrupt);
    bool solve(Interrupt& interrupt);
    Matrix correction() const;
    double part(const Matrix& change) const;
    double growth() const noexcept;
    double fastest() const noexcept;
    double longest() const noexcept;
    double longest_by_rounding() const noexcept;
    void see_rounding();
    Vector moved_by_rounding() const;
    double smooth_error() const;
    bool is_near(const Vector& velocity) const;
    bool has_come(const Vector& velocity, const Vector& rounding) const;
    Vector without_what_falls() const;
    Vector rounding_of_velocity() const;
    double layer() const;
    bool measure_missed(Interrupt& interrupt);
    Jet::Missed all_missed() const;
    bool fill(Jet& jet) const;
    void propose(double miss) noexcept;
    bool refuse(double part) noexcept;

    const RadauNodes& nodes_;
    StageModes stages_;  // of the integration between the nodes
    StageMatrix rates_;  // its inverse: of what is zero at the begin, by its values at the nodes
    double rtol_;
    double tolerance_;
    int order_;  // of the series of a step
    Jet jet_;    // at one state
    const Activity* activity_ = nullptr;
    Vector theta_, velocity_;
    Vector rounding_;  // of the velocity
    Vector hidden_;    // the same along each mode
    Vector moved_;     // by it, in the step
    Matrix start_duals_;
    Vector start_multipliers_;
    double log_unit_ = 0.0;
    double size_ = 0.0;
    std::vector<int> row_;  // for each parameter by which a unit reads the data, that unit; else -1
    Vector sizes_, units_;  // what errors and corrections of each parameter are compared with
    double length_ = 0.0;
    double next_length_ = 0.0;
    double work_ = 0.0;
    int iterations_ = 0;
    bool is_exact_ = false;
    bool has_modes_ = false;
    Modes modes_;
    double scale_ = 1.0;               // of the modes' eigenvalues in the time of this step
    Matrix shifts_, velocities_;       // (stages, parameters): at the nodes, of θ less that at the start, and θ'
    std::vector<Matrix> duals_;        // at the nodes
    std::vector<Vector> multipliers_;  // at the nodes
    Jet::Missed missed_;               // by this step
    Jet::Missed missed_before_;        // and by the last one that was taken
    double log_unit_before_ = 0.0;
    double come_at_ = std::numeric_limits<double>::infinity();  // |θ'| at the last look, if that was near its end
};

}  // namespace reluflow::layered
