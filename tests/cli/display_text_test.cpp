#include "cli/display_text.hpp"

#include <gtest/gtest.h>

namespace paceline::cli {
namespace {

TEST(DisplayText, counts_terminal_columns_not_bytes) {
  EXPECT_EQ(display_width("ms"), 2);
  EXPECT_EQ(display_width("µs"), 2);       // three bytes
  EXPECT_EQ(display_width("▒▒██··"), 6);   // 16 bytes
  EXPECT_EQ(display_width("e\u0301"), 1);  // a combining accent
  EXPECT_EQ(display_width("計算"), 4);     // two wide characters
  EXPECT_EQ(display_width(""), 0);
}

TEST(DisplayText, colours_take_no_place_and_invalid_bytes_one_each) {
  EXPECT_EQ(display_width("\x1b[34m██\x1b[0m"), 2);
  EXPECT_EQ(display_width("a\xff\xfe"), 3);
  EXPECT_EQ(display_width("\xe2\x96"), 2);  // the start of █ without its end
}

TEST(DisplayText, shortens_from_the_middle) {
  EXPECT_EQ(shortened("backward.m0.blocks.3.mlp.fc1", 12), "backwa…p.fc1");
  EXPECT_EQ(display_width(shortened("backward.m0.blocks.3.mlp.fc1", 12)), 12);
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("µµµµµµ", 3), "µ…µ");
  EXPECT_EQ(shortened("anything", 1), "…");
  EXPECT_EQ(shortened("anything", 0), "");
}

TEST(DisplayText, wraps_at_blanks) {
  EXPECT_EQ(wrapped("one two three four", 9), "one two\nthree\nfour");
  EXPECT_EQ(wrapped("one two three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(wrapped("a_word_longer_than_the_line b", 5), "a_word_longer_than_the_line\nb");
  // The first line starts in column 6: "one" ends at 9, "two" would end at 13.
  EXPECT_EQ(wrapped("one two", 12, 0, 6), "one\ntwo");
  EXPECT_EQ(wrapped("", 10), "");
}

TEST(DisplayText, no_text_commands_the_terminal) {
  EXPECT_EQ(without_controls("clear\x1b[2Jbell\a tab\t"), "clear?[2Jbell? tab?");
  EXPECT_EQ(without_controls("two\nlines \x1b[36mcolour\x1b[0m"),
            "two\nlines \x1b[36mcolour\x1b[0m");
  EXPECT_EQ(without_controls("\xc2\x9b"
                             "31m"),
            "?31m");  // the one-byte form of ESC [
  EXPECT_EQ(without_controls("a\xff"), "a?");
}

TEST(DisplayText, ascii_keeps_widths_where_tables_need_them) {
  EXPECT_EQ(as_ascii("▒█▓░·"), "-#=~.");
  EXPECT_EQ(as_ascii("8.12 µs × 2 − 1"), "8.12 us x 2 - 1");
  EXPECT_EQ(as_ascii("計"), "?");
}

}  // namespace
}  // namespace paceline::cli
