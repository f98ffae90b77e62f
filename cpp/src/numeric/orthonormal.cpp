#include "numeric/orthonormal.hpp"

namespace reluflow {

namespace {

/// Rows whose parts are taken from a vector together, and vectors from which a row is: one by one each would wait for
/// the one before.
constexpr int kTogether = 4;

double dot(const double* a, const double* b, Index size) noexcept {
    return Eigen::Map<const Vector>(a, size).dot(Eigen::Map<const Vector>(b, size));
}

template <int Count>
void take_rows(const double* q, Index size, double* v, double* parts) noexcept {
    double along[Count];
    for (int i = 0; i < Count; ++i) along[i] = dot(q + i * size, v, size);
    for (Index k = 0; k < size; ++k) {
        double taken = 0.0;
        for (int i = 0; i < Count; ++i) taken += along[i] * q[i * size + k];
        v[k] -= taken;
    }
    if (parts)
        for (int i = 0; i < Count; ++i) parts[i] += along[i];
}

/// One row from some vectors, whose parts are `count` apart.
template <int Vectors>
void take_row(const double* q, int count, Index size, double* v, double* parts) noexcept {
    double along[Vectors];
    for (int i = 0; i < Vectors; ++i) along[i] = dot(q, v + i * size, size);
    for (Index k = 0; k < size; ++k)
        for (int i = 0; i < Vectors; ++i) v[i * size + k] -= along[i] * q[k];
    if (parts)
        for (int i = 0; i < Vectors; ++i) parts[i * count] = along[i];
}

}  // namespace

void take_out(const double* q, int count, Index size, double* v, double* parts) noexcept {
    int i = 0;
    for (; i + kTogether <= count; i += kTogether)
        take_rows<kTogether>(q + i * size, size, v, parts ? parts + i : nullptr);
    for (; i < count; ++i) take_rows<1>(q + i * size, size, v, parts ? parts + i : nullptr);
}

void take_out_of_each(const double* q, int count, Index size, int vectors, double* v, double* parts) noexcept {
    const auto take = [&]<int Vectors>(int first) {
        for (int i = 0; i < count; ++i) {
            double* to = parts ? parts + first * count + i : nullptr;
            take_row<Vectors>(q + i * size, count, size, v + first * size, to);
        }
    };
    int first = 0;
    for (; first + kTogether <= vectors; first += kTogether) take.template operator()<kTogether>(first);
    for (; first < vectors; ++first) take.template operator()<1>(first);
}

/// By columns, which lie side by side.
void solve_triangle(const double* r, int count, double* values) noexcept {
    for (int h = count - 1; h >= 0; --h) {
        const double* column = r + h * (h + 1) / 2;
        values[h] /= column[h];
        for (int i = 0; i < h; ++i) values[i] -= values[h] * column[i];
    }
}

}  // namespace reluflow
