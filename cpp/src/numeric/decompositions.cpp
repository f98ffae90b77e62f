#include "numeric/decompositions.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>

namespace reluflow {

Eigen::MatrixXd span_basis(const Eigen::MatrixXd& columns) {
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(columns);
    return qr.householderQ() * Eigen::MatrixXd::Identity(columns.rows(), qr.rank());
}

Vector least_squares(const Eigen::MatrixXd& columns, const Vector& target, std::optional<double> zero) {
    Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> factors;
    if (zero) factors.setThreshold(*zero);
    factors.compute(columns);
    return factors.solve(target);
}

Vector outside_span(const Eigen::MatrixXd& columns, const Vector& vector, double zero) {
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factors(columns);
    factors.setThreshold(zero);
    Vector coordinates = factors.householderQ().adjoint() * vector;
    coordinates.head(factors.rank()).setZero();
    return factors.householderQ() * coordinates;
}

double least_eigenvalue(const Eigen::MatrixXd& symmetric) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(symmetric, Eigen::EigenvaluesOnly);
    return solver.eigenvalues().minCoeff();
}

SymmetricModes symmetric_modes(const Eigen::MatrixXd& matrix) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix);
    return {solver.eigenvalues(), solver.eigenvectors()};
}

Eigen::MatrixXd null_space(const Eigen::MatrixXd& matrix, double zero) {
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(matrix.transpose());
    qr.setThreshold(zero);
    const Index size = matrix.cols();
    return (qr.householderQ() * Eigen::MatrixXd::Identity(size, size)).rightCols(size - qr.rank());
}

}  // namespace reluflow
