/// Exact arithmetic for tests: every double is an integer times a power of two, and so are sums and products of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace reluflow::tests {

/// sign · magnitude · 2^exponent with a magnitude of any length. Slow and plain; nothing is ever rounded.
class Exact {
  public:
    Exact() = default;
    Exact(double value) {  // NOLINT: meant to convert
        int exponent = 0;
        const double part = std::frexp(std::abs(value), &exponent);
        auto digits = static_cast<std::uint64_t>(std::ldexp(part, 53));
        for (; digits != 0; digits >>= 32U) limbs_.push_back(static_cast<std::uint32_t>(digits));
        exponent_ = limbs_.empty() ? 0 : exponent - 53;
        negative_ = !limbs_.empty() && value < 0.0;
    }

    int sign() const { return limbs_.empty() ? 0 : (negative_ ? -1 : 1); }
    Exact operator-() const {
        Exact opposite = *this;
        opposite.negative_ = !limbs_.empty() && !negative_;
        return opposite;
    }
    Exact abs() const { return sign() < 0 ? -*this : *this; }

    friend Exact operator*(const Exact& a, const Exact& b) {
        Exact product;
        product.limbs_.assign(a.limbs_.size() + b.limbs_.size(), 0);
        for (std::size_t i = 0; i < a.limbs_.size(); ++i) {
            std::uint64_t carry = 0;
            for (std::size_t k = 0; k < b.limbs_.size(); ++k) {
                carry += std::uint64_t{a.limbs_[i]} * b.limbs_[k] + product.limbs_[i + k];
                product.limbs_[i + k] = static_cast<std::uint32_t>(carry);
                carry >>= 32U;
            }
            product.limbs_[i + b.limbs_.size()] = static_cast<std::uint32_t>(carry);
        }
        product.exponent_ = a.exponent_ + b.exponent_;
        product.negative_ = a.negative_ != b.negative_;
        product.trim();
        return product;
    }
    friend Exact operator+(const Exact& a, const Exact& b) {
        if (a.sign() == 0) return b;
        if (b.sign() == 0) return a;
        Exact x = a;
        Exact y = b;
        const int exponent = std::min(a.exponent_, b.exponent_);
        x.lower(exponent);
        y.lower(exponent);
        if (x.negative_ == y.negative_) return x.add(y);
        return compare(x.limbs_, y.limbs_) >= 0 ? x.take(y) : y.take(x);
    }
    friend Exact operator-(const Exact& a, const Exact& b) { return a + -b; }
    friend bool operator<(const Exact& a, const Exact& b) { return (a - b).sign() < 0; }
    friend bool operator>(const Exact& a, const Exact& b) { return b < a; }
    friend bool operator<=(const Exact& a, const Exact& b) { return !(b < a); }
    friend bool operator==(const Exact& a, const Exact& b) { return (a - b).sign() == 0; }

    /// part · 2^scale with |part| in [1/2, 1), to about 60 bits.
    long double part(int& scale) const {
        long double value = 0.0L;
        const std::size_t first = limbs_.size() > 3 ? limbs_.size() - 3 : 0;
        for (std::size_t i = limbs_.size(); i > first; --i) value = value * 0x1p32L + limbs_[i - 1];
        value = std::frexp(value, &scale);
        scale += exponent_ + 32 * static_cast<int>(first);
        return negative_ ? -value : value;
    }
    long double value() const {
        int scale = 0;
        const long double found = part(scale);
        return std::ldexp(found, scale);
    }

  private:
    using Limbs = std::vector<std::uint32_t>;

    static int compare(const Limbs& a, const Limbs& b) {
        if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
        for (std::size_t i = a.size(); i > 0; --i)
            if (a[i - 1] != b[i - 1]) return a[i - 1] < b[i - 1] ? -1 : 1;
        return 0;
    }
    void trim() {
        while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
        if (!limbs_.empty()) return;
        negative_ = false;
        exponent_ = 0;
    }
    /// The same number with a smaller exponent.
    void lower(int exponent) {
        const auto bits = static_cast<unsigned>(exponent_ - exponent);
        exponent_ = exponent;
        limbs_.insert(limbs_.begin(), bits / 32, 0);
        std::uint64_t carry = 0;
        for (std::uint32_t& limb : limbs_) {
            carry |= std::uint64_t{limb} << (bits % 32);
            limb = static_cast<std::uint32_t>(carry);
            carry >>= 32U;
        }
        if (carry != 0) limbs_.push_back(static_cast<std::uint32_t>(carry));
    }
    /// Adds and takes away magnitudes of one exponent; take() wants the smaller one.
    Exact& add(const Exact& other) {
        limbs_.resize(std::max(limbs_.size(), other.limbs_.size()) + 1, 0);
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i < limbs_.size(); ++i) {
            carry += std::uint64_t{limbs_[i]} + (i < other.limbs_.size() ? other.limbs_[i] : 0);
            limbs_[i] = static_cast<std::uint32_t>(carry);
            carry >>= 32U;
        }
        trim();
        return *this;
    }
    Exact& take(const Exact& other) {
        std::int64_t borrow = 0;
        for (std::size_t i = 0; i < limbs_.size(); ++i) {
            std::int64_t left = std::int64_t{limbs_[i]} - borrow - (i < other.limbs_.size() ? other.limbs_[i] : 0);
            borrow = left < 0 ? 1 : 0;
            if (left < 0) left += std::int64_t{1} << 32;
            limbs_[i] = static_cast<std::uint32_t>(left);
        }
        trim();
        return *this;
    }

    bool negative_ = false;
    int exponent_ = 0;
    Limbs limbs_;  // least first, no zero at the end
};

/// a / b to about 60 bits; precondition: b is not zero.
inline long double ratio(const Exact& a, const Exact& b) {
    if (a.sign() == 0) return 0.0L;
    int high = 0;
    int low = 0;
    const long double top = a.part(high);
    const long double bottom = b.part(low);
    return std::ldexp(top / bottom, high - low);
}

/// Σ c_k u^k.
inline Exact evaluate_exactly(std::span<const double> c, double u) {
    Exact value;
    for (std::size_t k = c.size(); k > 0; --k) value = value * u + c[k - 1];
    return value;
}

/// Σ |c_k| u^k for u >= 0: what the rounding of a value is relative to.
inline Exact size_exactly(std::span<const double> c, double u) {
    Exact value;
    for (std::size_t k = c.size(); k > 0; --k) value = value * u + std::abs(c[k - 1]);
    return value;
}

/// The determinant of a square matrix of numbers that are not rounded, by its definition.
template <class Number>
Number determinant(const std::vector<std::vector<Number>>& matrix) {
    const std::size_t n = matrix.size();
    if (n == 0) return Number(1);
    Number sum{};
    for (std::size_t column = 0; column < n; ++column) {
        std::vector<std::vector<Number>> minor;
        for (std::size_t i = 1; i < n; ++i) {
            minor.push_back(matrix[i]);
            minor.back().erase(minor.back().begin() + static_cast<std::ptrdiff_t>(column));
        }
        const Number term = matrix[0][column] * determinant(minor);
        sum = column % 2 == 0 ? sum + term : sum - term;
    }
    return sum;
}

/// Cramer's rule: the numerators of the solution of a system, whose common denominator is its determinant.
template <class Number>
std::vector<Number> cramer(const std::vector<std::vector<Number>>& matrix, const std::vector<Number>& right) {
    std::vector<Number> solution;
    for (std::size_t column = 0; column < right.size(); ++column) {
        auto replaced = matrix;
        for (std::size_t row = 0; row < right.size(); ++row) replaced[row][column] = right[row];
        solution.push_back(determinant(replaced));
    }
    return solution;
}

}  // namespace reluflow::tests
