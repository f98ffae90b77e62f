/// The coupling: the weights p give every group's gradient, and every group's moment Σ a_j w_j its part of the margins.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/pool.hpp"
#include "base/types.hpp"
#include "hybrid/pattern.hpp"
#include "problem/dataset.hpp"
#include "two_layer/groups.hpp"
#include "two_layer/sample_classes.hpp"

namespace reluflow {

class SubsetSums;

/// Products with the slopes s (n, groups): 1 on the active side, the leak on the other, 0 on sliding boundaries. Where
/// samples form few classes with the same slopes, each sample is added to its class once, whatever the number of
/// groups. Otherwise the active ones form a matrix of zeros and ones, and products use tables of subset sums, a quarter
/// of the work of a matrix product.
class Coupling {
  public:
    Coupling(const Dataset& data, Index neurons, double leak, Pool& pool);
    ~Coupling();

    /// Takes the slopes of the groups' leaders.
    void set_slopes(const Pattern& pattern, const Groups& groups);

    /// G (r, groups): column c is g_c = Σ_i weights_i s_ic x_i.
    void gradients(const double* weights, Matrix& G);
    /// q_i = y_i Σ_c s_ic x_i·M_c for moments M (r, groups).
    void margins(const Matrix& M, Vector& q);
    /// Until select_all() margins of these samples suffice, in order, and weights of all others are zero: products are
    /// of these alone, where that is less work. The slopes have to stay.
    void select(std::span<const int> samples);
    void select_all() noexcept;

    double slope(Index sample, Index group) const noexcept {
        const std::int8_t side = sides_[group * data_.n() + sample];
        return side > 0 ? 1.0 : (side < 0 ? leak_ : 0.0);
    }

    /// Signs of the slopes of a group, (n,): the sides of its boundaries, 0 where it slides.
    std::span<const std::int8_t> sides(Index group) const noexcept {
        return {sides_.data() + group * data_.n(), static_cast<std::size_t>(data_.n())};
    }

  private:
    /// Up to this many groups, plain loops over the samples are faster than tables.
    static constexpr Index kFewGroups = 6;

    /// Groups per piece of the slopes.
    static constexpr Index kPiece = 128;

    /// What is added up, with its slope, of one sum after the other; sum k begins at begin[k].
    struct Terms {
        struct Term {
            int of = 0;
            double slope = 0.0;
        };
        std::vector<Term> terms;
        std::vector<int> begin;
        std::span<const Term> of(Index k) const noexcept {
            return {terms.data() + begin[k], static_cast<std::size_t>(begin[k + 1] - begin[k])};
        }
    };

    /// Of each class with samples the groups that have a slope there, and of each group such classes.
    struct ClassTerms {
        Terms groups_of_class, classes_of_group;
    };

    void grow(Index groups);
    void list_selected_codes();
    /// Rows of the products: the selected samples, or all, and their codes.
    Index rows() const noexcept { return selects_ ? std::ssize(selected_) : data_.n(); }
    Index sample(Index row) const noexcept { return selects_ ? selected_[row] : row; }
    const std::uint8_t* codes_of_groups() const noexcept {
        return selects_ ? selected_sample_codes_.data() : sample_codes_.data();
    }
    const std::uint8_t* codes_of_rows() const noexcept {
        return selects_ ? selected_group_codes_.data() : group_codes_.data();
    }
    double sum_work(Index rows, Index sums) const noexcept;
    Index parts_of(double work) const noexcept;
    Range columns_of(Index strip) const noexcept;
    void set_group(Index group, const Pattern& pattern, Index leader);
    void clear_group(Index group) noexcept;
    void set_codes(Index group, Index begin, std::span<const std::int8_t> signs) noexcept;
    void find_classes();
    void list_terms(ClassTerms& into) const;
    const Terms& groups_of_class() const noexcept { return (selects_ ? selected_terms_ : terms_).groups_of_class; }
    const Terms& classes_of_group() const noexcept { return (selects_ ? selected_terms_ : terms_).classes_of_group; }
    template <int Count>
    void add_terms(std::span<const Terms::Term> terms, const double* rows, double* sum) const noexcept;
    template <int Count>
    void sum_classes(const double* weights, Index x, Matrix& G);
    void gradients_by_class(const double* weights, Matrix& G);
    void turn(const Matrix& M);
    void margins_by_class(const Matrix& M, Vector& q);
    void gradients_of_few(const double* weights, Matrix& G);
    void margins_of_few(const Matrix& M, Vector& q);
    void add_gradients(const double* weights, Range groups, Range columns, SubsetSums& sums, Matrix& G);
    void add_margins(const Matrix& M, Range rows, Range columns, SubsetSums& sums);
    void add_leaks_to_gradients(const double* weights, Range groups, Range columns, SubsetSums& sums);
    void add_leaks_to_margins(Range rows, Range columns, SubsetSums& sums);

    const Dataset& data_;
    double leak_;
    Pool& pool_;
    Index groups_ = 0;
    Index capacity_ = 0;              // groups that the memory suffices for
    bool one_to_one_;                 // boundary i belongs to sample i alone
    std::vector<std::int8_t> sides_;  // (groups, n), signs of the slopes, 0 where sliding; matches the codes
    std::vector<std::int8_t> orientation_;
    std::vector<std::uint8_t> sample_codes_;     // (groups, chunks of samples)
    std::vector<std::uint8_t> group_codes_;      // (chunks of groups, n)
    std::vector<std::pair<Index, Index>> held_;  // (group, sample) of sliding pairs, in order, if there is a leak
    bool selects_ = false;
    bool knows_selected_ = false;  // what follows is of the present slopes
    std::vector<int> selected_;
    std::vector<std::uint8_t> selected_sample_codes_;  // as those above, (groups, chunks of the selected samples)
    std::vector<std::uint8_t> selected_group_codes_;   // (chunks of groups, selected samples)
    SampleClasses classes_;
    bool by_class_ = false;              // there are few classes
    ClassTerms terms_, selected_terms_;  // of all samples, and of the selected ones
    Numbers class_sums_, turned_;        // (classes, r), (groups, r)
    std::vector<SubsetSums> own_;        // workspace of each thread
    Numbers column_;                     // workspace
    Vector all_;                         // the sum over all rows, if there is a leak
    Matrix shares_;                      // (strips, n), contribution of each strip to the margins
};

}  // namespace reluflow
