#pragma once

#include <Eigen/Core>

namespace paceline::validate {

/// The x >= 0 that minimises |a·x − b|, by the active-set method of Lawson and Hanson ("Solving
/// Least Squares Problems", 1974, chapter 23). Columns are scaled to unit length inside, so their
/// units do not matter; a column of zeros gets 0. Of columns that depend on each other, one basic
/// solution is returned.
/// Throws `core::InvariantError` if the sizes disagree or a number is not finite.
[[nodiscard]] Eigen::VectorXd non_negative_least_squares(const Eigen::MatrixXd& a,
                                                         const Eigen::VectorXd& b);

}  // namespace paceline::validate
