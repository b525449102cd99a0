#include "validate/non_negative_least_squares.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace paceline::validate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The problem with unit columns, and which variables may be positive now.
class ActiveSet {
 public:
  ActiveSet(const MatrixXd& a, const VectorXd& b)
      : scale_(a.colwise().norm()),
        a_(a),
        b_(b),
        x_(VectorXd::Zero(a.cols())),
        state_(static_cast<std::size_t>(a.cols()), State::zero) {
    for (Index j = 0; j < a_.cols(); ++j) {
      if (scale_(j) > 0.0) a_.col(j) /= scale_(j);
    }
    const auto longest = static_cast<double>(std::max(a.rows(), a.cols()));
    tolerance_ = 10.0 * std::numeric_limits<double>::epsilon() * longest * b.norm();
  }

  [[nodiscard]] VectorXd solve() {
    const Index limit = 100 * (a_.cols() + 1);  // the method needs about 3 · columns
    for (Index iteration = 0; iteration < limit; ++iteration) {
      const Index entering = steepest();
      if (entering < 0) return unscaled();
      if (enter(entering)) {
        std::replace(state_.begin(), state_.end(), State::refused, State::zero);
      } else {
        at(entering) = State::refused;
      }
    }
    throw core::InvariantError("non-negative least squares did not end after " +
                               std::to_string(limit) + " iterations over " +
                               std::to_string(a_.cols()) + " columns");
  }

 private:
  enum class State : std::uint8_t { zero, refused, positive };

  [[nodiscard]] State& at(Index j) { return state_[static_cast<std::size_t>(j)]; }

  /// The variable at zero along which the error falls fastest, or −1 if it falls along none.
  [[nodiscard]] Index steepest() {
    const VectorXd descent = a_.transpose() * (b_ - a_ * x_);
    Index best = -1;
    for (Index j = 0; j < a_.cols(); ++j) {
      if (at(j) != State::zero || descent(j) <= tolerance_) continue;
      if (best < 0 || descent(j) > descent(best)) best = j;
    }
    return best;
  }

  /// Frees variable `entering` and moves to the best point of the free variables that is not
  /// negative. False, with nothing changed, if rounding would push the new variable below zero.
  [[nodiscard]] bool enter(Index entering) {
    at(entering) = State::positive;
    for (bool first = true;; first = false) {
      const VectorXd target = least_squares_of_free();
      if (first && target(entering) <= 0.0) return false;
      Index blocking = -1;
      double step = 1.0;
      for (Index j = 0; j < target.size(); ++j) {
        if (at(j) != State::positive || target(j) > 0.0) continue;
        const double reach = x_(j) / (x_(j) - target(j));
        if (blocking < 0 || reach < step) {
          blocking = j;
          step = reach;
        }
      }
      if (blocking < 0) {
        x_ = target;
        return true;
      }
      x_ += step * (target - x_);
      x_(blocking) = 0.0;
      for (Index j = 0; j < x_.size(); ++j) {
        if (at(j) != State::positive || x_(j) > 0.0) continue;
        x_(j) = 0.0;
        at(j) = State::zero;
      }
    }
  }

  [[nodiscard]] VectorXd least_squares_of_free() {
    std::vector<Index> free;
    for (Index j = 0; j < a_.cols(); ++j) {
      if (at(j) == State::positive) free.push_back(j);
    }
    const VectorXd solution = MatrixXd(a_(Eigen::all, free)).colPivHouseholderQr().solve(b_);
    VectorXd all = VectorXd::Zero(a_.cols());
    for (std::size_t i = 0; i < free.size(); ++i) all(free[i]) = solution(static_cast<Index>(i));
    return all;
  }

  [[nodiscard]] VectorXd unscaled() const {
    VectorXd x = x_;
    for (Index j = 0; j < x.size(); ++j) {
      if (scale_(j) > 0.0) x(j) /= scale_(j);
    }
    return x;
  }

  VectorXd scale_;
  MatrixXd a_;
  VectorXd b_;
  VectorXd x_;
  std::vector<State> state_;
  double tolerance_ = 0.0;
};

}  // namespace

Eigen::VectorXd non_negative_least_squares(const Eigen::MatrixXd& a, const Eigen::VectorXd& b) {
  if (a.rows() != b.size()) {
    throw core::InvariantError("non-negative least squares of " + std::to_string(a.rows()) +
                               " rows for " + std::to_string(b.size()) + " values");
  }
  if (!a.allFinite() || !b.allFinite()) {
    throw core::InvariantError("non-negative least squares of numbers that are not finite");
  }
  if (a.cols() == 0) return VectorXd();
  return ActiveSet(a, b).solve();
}

}  // namespace paceline::validate
