#include "validate/non_negative_least_squares.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <limits>

#include "core/error.hpp"
#include "core/random.hpp"

namespace paceline::validate {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST(NonNegativeLeastSquares, equals_least_squares_where_that_is_positive) {
  // Rows (1,0), (1,1), (1,2) with values 1, 3, 5 lie on 1 + 2x exactly.
  const MatrixXd a{{1, 0}, {1, 1}, {1, 2}};
  const VectorXd b{{1, 3, 5}};
  const VectorXd x = non_negative_least_squares(a, b);
  EXPECT_NEAR(x(0), 1.0, 1e-12);
  EXPECT_NEAR(x(1), 2.0, 1e-12);
}

TEST(NonNegativeLeastSquares, puts_a_variable_that_wants_to_be_negative_at_zero) {
  // Values 3, 2, 1 fall: the line is 3 − x, so the slope is held at 0 and the constant becomes the
  // mean, 2.
  const MatrixXd a{{1, 0}, {1, 1}, {1, 2}};
  const VectorXd b{{3, 2, 1}};
  const VectorXd x = non_negative_least_squares(a, b);
  EXPECT_NEAR(x(0), 2.0, 1e-12);
  EXPECT_EQ(x(1), 0.0);
}

TEST(NonNegativeLeastSquares, a_constant_that_wants_to_be_negative_never_enters) {
  // Values 0, 1, 3 on x = 0, 1, 2. The gradients at zero are 4/√3 = 2.31 for the constant and 7/√5
  // = 3.13 for the slope, so the slope enters first with 7/5. The residuals 0, −0.4, 0.2 then sum
  // to −0.2: the constant stays at 0.
  const MatrixXd a{{1, 0}, {1, 1}, {1, 2}};
  const VectorXd b{{0, 1, 3}};
  const VectorXd x = non_negative_least_squares(a, b);
  EXPECT_EQ(x(0), 0.0);
  EXPECT_NEAR(x(1), 1.4, 1e-12);
}

TEST(NonNegativeLeastSquares, the_variable_that_entered_first_leaves_when_the_others_replace_it) {
  // p = (1, 1, 1, 0.2) has the steepest descent for b = (1, 1, 1, −0.1): 2.98/√3.04 = 1.71 against
  // 1 for each of e1, e2, e3. It enters with 0.980 and leaves residuals of 0.020 along e1, e2, e3,
  // which enter in turn. With all four free p alone would have to explain the fourth row, 0.2·p =
  // −0.1, so it leaves; e1 = e2 = e3 = 1.
  const MatrixXd a{{1, 1, 0, 0}, {1, 0, 1, 0}, {1, 0, 0, 1}, {0.2, 0, 0, 0}};
  const VectorXd b{{1, 1, 1, -0.1}};
  const VectorXd x = non_negative_least_squares(a, b);
  EXPECT_EQ(x(0), 0.0);
  for (Eigen::Index j = 1; j < 4; ++j) EXPECT_NEAR(x(j), 1.0, 1e-12);
}

TEST(NonNegativeLeastSquares, gives_zero_where_all_values_pull_below_zero) {
  const MatrixXd a{{1, 0}, {0, 1}};
  const VectorXd b{{-1, -2}};
  EXPECT_EQ(non_negative_least_squares(a, b), VectorXd::Zero(2));
}

TEST(NonNegativeLeastSquares, a_column_of_zeros_gets_zero) {
  const MatrixXd a{{1, 0}, {1, 0}};
  const VectorXd b{{2, 4}};
  const VectorXd x = non_negative_least_squares(a, b);
  EXPECT_NEAR(x(0), 3.0, 1e-12);
  EXPECT_EQ(x(1), 0.0);
}

TEST(NonNegativeLeastSquares, columns_that_depend_on_each_other_still_give_the_best_fit) {
  const MatrixXd a{{1, 2, 1}, {2, 4, 0}, {3, 6, 0}};  // the second is twice the first
  const VectorXd b{{5, 4, 6}};                        // = 2 · first + 3 · third
  const VectorXd x = non_negative_least_squares(a, b);
  EXPECT_NEAR((a * x - b).norm(), 0.0, 1e-10);
  EXPECT_GE(x.minCoeff(), 0.0);
}

TEST(NonNegativeLeastSquares, units_of_columns_do_not_matter) {
  const MatrixXd a{{1, 1e-6 * 3}, {1, 1e-6 * 7}, {1, 1e-6 * 2}};
  MatrixXd other_units = a;
  other_units.col(1) *= 1e18;
  const VectorXd b{{4, 9, 3}};
  const VectorXd x = non_negative_least_squares(a, b);
  const VectorXd y = non_negative_least_squares(other_units, b);
  EXPECT_NEAR(x(0), y(0), 1e-9);
  EXPECT_NEAR(x(1) / (y(1) * 1e18), 1.0, 1e-9);
}

/// At the minimum the gradient aᵀ(b − a·x) is zero where x > 0 and not positive where x = 0
/// (Karush, Kuhn and Tucker); for a convex problem that is enough.
TEST(NonNegativeLeastSquares, meets_the_conditions_of_a_minimum_on_random_problems) {
  core::Random random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const auto rows = static_cast<Eigen::Index>(1 + random.below(12));
    const auto columns = static_cast<Eigen::Index>(1 + random.below(8));
    const MatrixXd a = MatrixXd::NullaryExpr(rows, columns, [&] { return random.normal(); });
    const VectorXd b = VectorXd::NullaryExpr(rows, [&] { return random.normal(); });
    const VectorXd x = non_negative_least_squares(a, b);
    const VectorXd gradient = a.transpose() * (b - a * x);
    for (Eigen::Index j = 0; j < columns; ++j) {
      EXPECT_GE(x(j), 0.0);
      EXPECT_LE(gradient(j), 1e-9) << "trial " << trial;
      if (x(j) > 0.0) {
        EXPECT_NEAR(gradient(j), 0.0, 1e-9) << "trial " << trial;
      }
    }
  }
}

TEST(NonNegativeLeastSquares, refuses_sizes_that_disagree_and_numbers_that_are_none) {
  EXPECT_THROW(
      static_cast<void>(non_negative_least_squares(MatrixXd::Ones(2, 1), VectorXd::Ones(3))),
      core::InvariantError);
  const VectorXd infinite = VectorXd::Constant(2, std::numeric_limits<double>::infinity());
  EXPECT_THROW(static_cast<void>(non_negative_least_squares(MatrixXd::Ones(2, 1), infinite)),
               core::InvariantError);
}

}  // namespace
}  // namespace paceline::validate
