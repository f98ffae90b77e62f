#include "problem/loss_of_all.hpp"

#include <algorithm>

namespace reluflow {

namespace {

/// e^x of less is no normal number; Eigen's exponential stops falling there.
constexpr double kSmallestLog = -708.0;

/// Whole registers on every processor. The rest of an array fills a block of its own: Eigen would take single numbers
/// through the standard library, whose last bits differ, and samples that are equal have to stay equal.
constexpr Index kBlock = 8;
using Block = Eigen::Array<double, kBlock, 1>;

/// Calls f(begin, count) for every block.
template <class F>
void for_blocks(Index size, const F& f) {
    for (Index begin = 0; begin < size; begin += kBlock) f(begin, std::min(kBlock, size - begin));
}

Block read(SamplesView x, Index begin, Index count) {
    if (count == kBlock) return x.segment<kBlock>(begin);
    Block block = Block::Zero();
    block.head(count) = x.segment(begin, count);
    return block;
}

void write(const Block& block, Index count, Index begin, Samples x) {
    if (count == kBlock)
        x.segment<kBlock>(begin) = block;
    else
        x.segment(begin, count) = block.head(count);
}

Block exponentials(const Block& x) {
    const Block values = x.exp();
    return (x < kSmallestLog).select(0.0, values);
}

struct Losses {
    Block log_weights, weights, log_losses;
};

/// log(1 + x) for x in [0, 1], by Kahan's formula: the rounding of 1 + x divides out. (Eigen's own takes doubles
/// singly.)
Block log1p(const Block& x) {
    const Block sum = 1.0 + x;
    const Block values = sum.log() * (x / (sum - 1.0));
    return (sum == 1.0).select(x, values);
}

/// With e = e^{-|q|} and s = log(1 + e), the logistic loss is max(-q, 0) + s, the log of its weight -max(q, 0) - s, and
/// its weight 1 / (1 + e) or e / (1 + e). Where e is so small that s = e, the loss is e^-q.
Losses logistic(const Block& q) {
    const Block tail = exponentials(-q.abs());
    const Block soft = log1p(tail);
    const Block above = q.max(0.0);
    const Block log_losses = (soft + (above - q)).log();
    const Block numerator = (q < 0.0).select(1.0, tail);
    return {-(above + soft), numerator / (1.0 + tail), (q > 0.0 && soft == tail).select(-q, log_losses)};
}

Block log_weights_of_logistic(const Block& q) {
    return -(q.max(0.0) + log1p(exponentials(-q.abs())));
}

/// One by one: where a margin is not finite, what comes of it is the caller's to see.
Losses one_by_one(LossKind kind, const Block& q) {
    return {q.unaryExpr([kind](double margin) { return log_weight(kind, margin); }),
            q.unaryExpr([kind](double margin) { return weight(kind, margin); }),
            q.unaryExpr([kind](double margin) { return log_loss(kind, margin); })};
}

}  // namespace

void losses_of(LossKind kind, SamplesView q, Samples log_weights, Samples weights, Samples log_losses) {
    for_blocks(q.size(), [&](Index begin, Index count) {
        const Block margins = read(q, begin, count);
        const bool together = kind == LossKind::logistic && margins.allFinite();
        const Losses losses = together ? logistic(margins) : one_by_one(kind, margins);
        write(losses.log_weights, count, begin, log_weights);
        write(losses.weights, count, begin, weights);
        write(losses.log_losses, count, begin, log_losses);
    });
}

void log_weights_of(LossKind kind, SamplesView q, Samples log_weights) {
    for_blocks(q.size(), [&](Index begin, Index count) {
        const Block margins = read(q, begin, count);
        const bool together = kind == LossKind::logistic && margins.allFinite();
        const Block values = together
                                 ? log_weights_of_logistic(margins)
                                 : Block(margins.unaryExpr([kind](double margin) { return log_weight(kind, margin); }));
        write(values, count, begin, log_weights);
    });
}

void exponentiate(Samples x) {
    for_blocks(x.size(),
               [&](Index begin, Index count) { write(exponentials(read(x, begin, count)), count, begin, x); });
}

}  // namespace reluflow
