#pragma once

#include <string>
#include <string_view>

/// UTF-8 text as a terminal shows it. Colour sequences (ESC [ … m) take no place.
namespace paceline::cli {

/// Terminal columns that `text`, one line, takes: 0 for combining marks, 2 for East Asian wide
/// characters, 1 for each other character and each invalid byte.
[[nodiscard]] int display_width(std::string_view text);

/// `text` in at most `width` columns: what is too much goes from the middle, with "…" in its place.
[[nodiscard]] std::string shortened(std::string_view text, int width);

/// `text` broken at blanks into lines of at most `width` columns. Lines after the first start with
/// `indent` blanks; the first is taken to stand `first_column` columns from the left. A word longer
/// than a line stands alone. No final newline.
[[nodiscard]] std::string wrapped(std::string_view text, int width, int indent = 0,
                                  int first_column = 0);

/// A block of a screen: an empty line, `title` as a line of its own unless it is empty, `lines`.
[[nodiscard]] std::string titled(std::string_view title, std::string_view lines);

/// What may go to a terminal: control characters other than newline become "?", so that no text
/// from a file commands the terminal.
[[nodiscard]] std::string without_controls(std::string_view text);

/// For terminals without UTF-8: bars as `-`, `#`, `=`, `~`, `.`; signs by their nearest ASCII of
/// the same width where tables use them; "?" for the rest.
[[nodiscard]] std::string as_ascii(std::string_view text);

}  // namespace paceline::cli
