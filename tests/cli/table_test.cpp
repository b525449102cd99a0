#include "cli/table.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/display_text.hpp"
#include "core/error.hpp"

namespace paceline::cli {
namespace {

int widest_line(const std::string& text) {
  std::istringstream lines(text);
  int widest = 0;
  for (std::string line; std::getline(lines, line);) {
    widest = std::max(widest, display_width(line));
  }
  return widest;
}

TEST(Table, aligns_columns_by_what_is_seen) {
  Table table({{.header = "class", .align = Align::left}, {.header = "µs"}}, 0);
  table.add_row({"gelu", "1.5"});
  table.add_row({"▒▒▒▒▒▒", "12.0"});
  EXPECT_EQ(table.text(80),
            "class     µs\n"
            "gelu     1.5\n"
            "▒▒▒▒▒▒  12.0\n");
}

TEST(Table, indents_and_leaves_no_blanks_at_the_end) {
  Table table({{.header = "a", .align = Align::left}, {.header = "b", .align = Align::left}});
  table.add_row({"1", ""});
  table.add_row({"2", "x"});
  EXPECT_EQ(table.text(80), "  a  b\n  1\n  2  x\n");
}

TEST(Table, leaves_out_columns_without_any_value) {
  Table table({{.header = "a"}, {.header = "never set"}, {.header = "c"}}, 0);
  table.add_row({"1", "", "3"});
  EXPECT_EQ(table.text(80), "a  c\n1  3\n");
}

/// Five columns: 30 + 20 + 20 + 20 + 20 and four gaps of 2 are 118.
Table wide_table() {
  Table table({{.header = "name", .align = Align::left, .shortens = true},
               {.header = "second", .drop_order = 2},
               {.header = "first", .drop_order = 1},
               {.header = "third", .drop_order = 3},
               {.header = "kept"}},
              0);
  table.add_row({std::string(30, 'n'), std::string(20, '2'), std::string(20, '1'),
                 std::string(20, '3'), std::string(20, 'k')});
  return table;
}

TEST(Table, shows_everything_where_there_is_room) {
  EXPECT_EQ(widest_line(wide_table().text(120)), 118);
  EXPECT_EQ(widest_line(wide_table().text(118)), 118);
}

TEST(Table, drops_columns_in_their_order_until_it_fits) {
  const std::string at_100 = wide_table().text(100);  // 118 − 22 = 96
  EXPECT_EQ(widest_line(at_100), 96);
  EXPECT_EQ(at_100.find('1'), std::string::npos);
  EXPECT_NE(at_100.find('2'), std::string::npos);
  const std::string at_80 = wide_table().text(80);  // 96 − 22 = 74
  EXPECT_EQ(widest_line(at_80), 74);
  EXPECT_EQ(at_80.find('2'), std::string::npos);
  EXPECT_NE(at_80.find('3'), std::string::npos);
}

TEST(Table, shortens_cells_when_no_column_is_left_to_drop) {
  const std::string at_40 = wide_table().text(40);  // 30 + 2 + 20 = 52: 12 too many
  EXPECT_EQ(widest_line(at_40), 40);
  EXPECT_NE(at_40.find("…"), std::string::npos);
  EXPECT_NE(at_40.find(std::string(20, 'k')), std::string::npos);
}

TEST(Table, a_cell_keeps_eight_columns) {
  EXPECT_EQ(widest_line(wide_table().text(10)), 30);  // 8 + 2 + 20
}

TEST(Table, refuses_a_row_of_another_length) {
  Table table({{.header = "a"}});
  EXPECT_THROW(table.add_row({"1", "2"}), core::InvariantError);
}

}  // namespace
}  // namespace paceline::cli
