#include "cli/display_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace paceline::cli {
namespace {

/// One step through a text: a character, an invalid byte, or a colour sequence.
struct Glyph {
  std::string_view bytes;
  char32_t code = 0;
  bool is_colour = false;
  bool is_valid = true;
};

/// The length of `ESC [ digits and semicolons m` at the start of `text`, or 0.
std::size_t colour_length(std::string_view text) {
  if (text.size() < 3 || text[0] != '\x1b' || text[1] != '[') return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

Glyph next_glyph(std::string_view text) {
  if (const std::size_t length = colour_length(text); length > 0) {
    return {text.substr(0, length), 0, true, true};
  }
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80U            ? 1
                             : (first >> 5U) == 0x6U  ? 2
                             : (first >> 4U) == 0xeU  ? 3
                             : (first >> 3U) == 0x1eU ? 4
                                                      : 0;
  const Glyph invalid{text.substr(0, 1), 0xfffd, false, false};
  if (length == 0 || length > text.size()) return invalid;
  if (length == 1) return {text.substr(0, 1), first, false, true};
  char32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) >> 6U) != 0x2U) return invalid;
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  return {text.substr(0, length), code, false, true};
}

template <class Visit>
void for_each_glyph(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const Glyph glyph = next_glyph(text);
    visit(glyph);
    text.remove_prefix(glyph.bytes.size());
  }
}

using Range = std::pair<char32_t, char32_t>;

bool is_in(char32_t code, const Range* first, const Range* last) {
  return std::any_of(first, last, [code](const Range& range) {
    return range.first <= code && code <= range.second;
  });
}

/// Unicode 15, "East Asian Width" W and F, in blocks; combining marks and what joins.
int width_of(const Glyph& glyph) {
  static constexpr std::array<Range, 5> nothing{
      {{0x0300, 0x036f}, {0x200b, 0x200f}, {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}}};
  static constexpr std::array<Range, 9> wide{{{0x1100, 0x115f},
                                              {0x2e80, 0xa4cf},
                                              {0xac00, 0xd7a3},
                                              {0xf900, 0xfaff},
                                              {0xfe30, 0xfe6f},
                                              {0xff00, 0xff60},
                                              {0xffe0, 0xffe6},
                                              {0x1f300, 0x1faff},
                                              {0x20000, 0x3fffd}}};
  if (glyph.is_colour || is_in(glyph.code, nothing.begin(), nothing.end())) return 0;
  return is_in(glyph.code, wide.begin(), wide.end()) ? 2 : 1;
}

std::string_view ascii_of(char32_t code) {
  static constexpr std::array<std::pair<char32_t, std::string_view>, 22> spellings{{
      {0x2592, "-"},    // ▒ forward
      {0x2588, "#"},    // █ backward
      {0x2593, "="},    // ▓ optimizer
      {0x2591, "~"},    // ░ communication
      {0x00b7, "."},    // · waiting
      {0x2026, "~"},    // … in a shortened cell
      {0x00d7, "x"},    // ×
      {0x2212, "-"},    // −
      {0x2013, "-"},    // –
      {0x2014, "-"},    // —
      {0x00b1, "+-"},   // ±
      {0x00b5, "u"},    // µ
      {0x03bc, "u"},    // μ
      {0x2192, "->"},   // →
      {0x2190, "<-"},   // ←
      {0x2265, ">="},   // ≥
      {0x2264, "<="},   // ≤
      {0x03a3, "sum"},  // Σ
      {0x2019, "'"},    // ’
      {0x201c, "\""},   // “
      {0x201d, "\""},   // ”
      {0x00b2, "^2"},   // ²
  }};
  const auto* const found = std::find_if(spellings.begin(), spellings.end(),
                                         [code](const auto& one) { return one.first == code; });
  return found == spellings.end() ? "?" : found->second;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  for_each_glyph(text, [&](const Glyph& glyph) { width += width_of(glyph); });
  return width;
}

std::string shortened(std::string_view text, int width) {
  const int whole = display_width(text);
  if (whole <= width) return std::string(text);
  if (width <= 0) return {};
  const int front = width / 2;
  const int back = width - 1 - front;
  std::string start;
  std::string end;
  int at = 0;
  for_each_glyph(text, [&](const Glyph& glyph) {
    const int after = at + width_of(glyph);
    if (after <= front) start += glyph.bytes;
    if (at >= whole - back) end += glyph.bytes;
    at = after;
  });
  return start + "…" + end;
}

std::string wrapped(std::string_view text, int width, int indent, int first_column) {
  std::string lines;
  int column = first_column;
  bool line_is_empty = true;
  for (const std::string_view word : words_of(text)) {
    const int length = display_width(word);
    if (!line_is_empty && column + 1 + length > width) {
      lines += '\n' + std::string(static_cast<std::size_t>(indent), ' ');
      column = indent;
      line_is_empty = true;
    }
    if (!line_is_empty) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += length;
    line_is_empty = false;
  }
  return lines;
}

std::string titled(std::string_view title, std::string_view lines) {
  std::string block = "\n";
  if (!title.empty()) block.append(title).append("\n");
  return block.append(lines);
}

std::string without_controls(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for_each_glyph(text, [&](const Glyph& glyph) {
    const bool is_control = !glyph.is_colour && glyph.code != U'\n' &&
                            (glyph.code < 0x20 || (glyph.code >= 0x7f && glyph.code < 0xa0));
    clean += is_control || !glyph.is_valid ? std::string_view("?") : glyph.bytes;
  });
  return clean;
}

std::string as_ascii(std::string_view text) {
  std::string ascii;
  ascii.reserve(text.size());
  for_each_glyph(text, [&](const Glyph& glyph) {
    ascii += glyph.is_colour || glyph.code < 0x80 ? glyph.bytes : ascii_of(glyph.code);
  });
  return ascii;
}

}  // namespace paceline::cli
