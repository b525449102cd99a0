#include "cli/table.hpp"

#include <algorithm>
#include <utility>

#include "cli/display_text.hpp"
#include "core/error.hpp"

namespace paceline::cli {
namespace {

constexpr int gap = 2;
constexpr int shortest_cell = 8;

std::string padded(const std::string& cell, int width, Align align) {
  const std::string fitted = shortened(cell, width);
  const std::string blanks(static_cast<std::size_t>(std::max(0, width - display_width(fitted))),
                           ' ');
  return align == Align::left ? fitted + blanks : blanks + fitted;
}

}  // namespace

Table::Table(std::vector<Column> columns, int indent)
    : columns_(std::move(columns)), indent_(indent) {}

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) {
    throw core::InvariantError("a row of " + std::to_string(cells.size()) +
                               " cells in a table of " + std::to_string(columns_.size()) +
                               " columns");
  }
  rows_.push_back(std::move(cells));
}

std::vector<int> Table::natural_widths() const {
  std::vector<int> widths(columns_.size(), 0);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (const auto& row : rows_) widths[c] = std::max(widths[c], display_width(row[c]));
    if (widths[c] > 0) widths[c] = std::max(widths[c], display_width(columns_[c].header));
  }
  return widths;
}

int Table::total_width(const std::vector<std::size_t>& shown,
                       const std::vector<int>& widths) const {
  int total = indent_;
  for (const std::size_t c : shown) total += widths[c];
  return total + gap * std::max(0, static_cast<int>(shown.size()) - 1);
}

std::vector<std::size_t> Table::fitting_columns(const std::vector<int>& widths, int width) const {
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (widths[c] > 0) shown.push_back(c);
  }
  while (total_width(shown, widths) > width) {
    auto next = shown.end();
    for (auto c = shown.begin(); c != shown.end(); ++c) {
      if (columns_[*c].drop_order == 0) continue;
      if (next == shown.end() || columns_[*c].drop_order < columns_[*next].drop_order) next = c;
    }
    if (next == shown.end()) break;
    shown.erase(next);
  }
  return shown;
}

void Table::shorten(const std::vector<std::size_t>& shown, std::vector<int>& widths,
                    int width) const {
  for (int excess = total_width(shown, widths) - width; excess > 0; --excess) {
    int* widest = nullptr;
    for (const std::size_t c : shown) {
      if (!columns_[c].shortens || widths[c] <= shortest_cell) continue;
      if (widest == nullptr || widths[c] > *widest) widest = &widths[c];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

std::string Table::text(int width) const {
  std::vector<int> widths = natural_widths();
  const std::vector<std::size_t> shown = fitting_columns(widths, width);
  shorten(shown, widths, width);
  std::string lines;
  const auto add_line = [&](const auto& cell_of) {
    std::string line(static_cast<std::size_t>(indent_), ' ');
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (i > 0) line.append(gap, ' ');
      line += padded(cell_of(shown[i]), widths[shown[i]], columns_[shown[i]].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines += line + "\n";
  };
  add_line([&](std::size_t c) -> const std::string& { return columns_[c].header; });
  for (const auto& row : rows_) {
    add_line([&](std::size_t c) -> const std::string& { return row[c]; });
  }
  return lines;
}

}  // namespace paceline::cli
