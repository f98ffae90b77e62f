#include "numeric/decompositions.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>

namespace reluflow {

Eigen::MatrixXd span_basis(const Eigen::MatrixXd& columns) {
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(columns);
    return qr.householderQ() * Eigen::MatrixXd::Identity(columns.rows(), qr.rank());
}

Vector least_squares(const Eigen::MatrixXd& columns, const Vector& target) {
    return columns.completeOrthogonalDecomposition().solve(target);
}

double least_eigenvalue(const Eigen::MatrixXd& symmetric) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(symmetric, Eigen::EigenvaluesOnly);
    return solver.eigenvalues().minCoeff();
}

Eigen::MatrixXd null_space(const Eigen::MatrixXd& matrix, double zero) {
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(matrix.transpose());
    qr.setThreshold(zero);
    const Index size = matrix.cols();
    return (qr.householderQ() * Eigen::MatrixXd::Identity(size, size)).rightCols(size - qr.rank());
}

Spectrum spectrum(const Eigen::MatrixXd& matrix) {
    const Eigen::EigenSolver<Eigen::MatrixXd> solver(matrix);
    Spectrum result{solver.eigenvalues(), solver.eigenvectors(), {}};
    // The inverse of A + iB is the first column of blocks of [[A, -B], [B, A]]^-1; complex LU factors would be compiled
    // for this line alone.
    const Index size = matrix.rows();
    Eigen::MatrixXd blocks(2 * size, 2 * size);
    blocks << result.right.real(), -result.right.imag(), result.right.imag(), result.right.real();
    const Eigen::MatrixXd inverse = blocks.inverse();
    result.left.resize(size, size);
    result.left.real() = inverse.topLeftCorner(size, size);
    result.left.imag() = inverse.bottomLeftCorner(size, size);
    return result;
}

}  // namespace reluflow
