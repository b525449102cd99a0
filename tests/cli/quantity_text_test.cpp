#include "cli/quantity_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace paceline::cli {
namespace {

TEST(QuantityText, times_have_a_unit_and_three_digits) {
  EXPECT_EQ(time_text(0.0), "0 µs");
  EXPECT_EQ(time_text(0.5), "0.500 µs");
  EXPECT_EQ(time_text(812.4), "812 µs");
  EXPECT_EQ(time_text(999.6), "1.00 ms");
  EXPECT_EQ(time_text(8124.0), "8.12 ms");
  EXPECT_EQ(time_text(1.43e6), "1.43 s");
  EXPECT_EQ(time_text(119.0e6), "119 s");
  EXPECT_EQ(time_text(558.0e6), "9 min 18 s");
  EXPECT_EQ(time_text(18720.0e6), "5 h 12 min");   // 5.2 · 3600
  EXPECT_EQ(time_text(1062720.0e6), "12.3 days");  // 12.3 · 86400
}

TEST(QuantityText, a_whole_minute_carries_over) {
  EXPECT_EQ(time_text(179.6e6), "3 min 0 s");
  EXPECT_EQ(time_text(7199.0e6), "119 min 59 s");
}

TEST(QuantityText, bytes_come_in_powers_of_1024) {
  EXPECT_EQ(bytes_text(core::Bytes(17)), "17 B");
  EXPECT_EQ(bytes_text(core::Bytes(12 * 1024)), "12.0 KiB");
  EXPECT_EQ(bytes_text(core::Bytes(INT64_C(346) << 20)), "346 MiB");
  EXPECT_EQ(bytes_text(core::Bytes(INT64_C(1310720) << 10)), "1.25 GiB");
}

TEST(QuantityText, columns_share_their_decimals) {
  EXPECT_EQ(decimals_for(0.0), 0);
  EXPECT_EQ(decimals_for(1234.0), 0);
  EXPECT_EQ(decimals_for(812.4), 1);
  EXPECT_EQ(decimals_for(8.124), 3);
  EXPECT_EQ(fixed(8.1246, 3), "8.125");
  EXPECT_EQ(fixed(-0.0001, 2), "0.00");
}

TEST(QuantityText, three_significant_digits) {
  EXPECT_EQ(significant(0.0), "0");
  EXPECT_EQ(significant(0.01234), "0.0123");
  EXPECT_EQ(significant(12.34), "12.3");
  EXPECT_EQ(significant(123456.0), "123456");
}

TEST(QuantityText, errors_carry_their_sign) {
  EXPECT_EQ(percent(0.045), "4.5 %");
  EXPECT_EQ(signed_percent(0.045), "+4.5 %");
  EXPECT_EQ(signed_percent(-0.2), "−20.0 %");
  EXPECT_EQ(signed_percent(-0.0001), "0.0 %");
  EXPECT_EQ(signed_percent(std::numeric_limits<double>::infinity()), "–");
}

TEST(QuantityText, counts_know_one_from_many) {
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(2, "rank"), "2 ranks");
}

TEST(QuantityText, the_unit_of_a_column_follows_its_largest_time) {
  EXPECT_EQ(time_unit_for(9999.0).name, "µs");
  EXPECT_EQ(time_unit_for(10000.0).name, "ms");
  EXPECT_EQ(time_unit_for(1e8).name, "s");
}

}  // namespace
}  // namespace paceline::cli
