#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::cli {

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string header;  // with the unit
  Align align = Align::right;
  /// Where the table is too wide, columns go in the order of this number; 0 stays.
  int drop_order = 0;
  /// May lose the middle of its cells once no column is left to drop.
  bool shortens = false;
};

/// Rows and columns without frames. Widths are counted in terminal columns, not bytes.
class Table {
 public:
  explicit Table(std::vector<Column> columns, int indent = 2);

  /// Throws `core::InvariantError` unless there is one cell for each column.
  void add_row(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// Header and rows, each line with its newline and without blanks at its end. Columns whose cells
  /// are all empty are left out; the others are fitted into `width` terminal columns.
  [[nodiscard]] std::string text(int width) const;

 private:
  [[nodiscard]] std::vector<int> natural_widths() const;
  [[nodiscard]] std::vector<std::size_t> fitting_columns(const std::vector<int>& widths,
                                                         int width) const;
  [[nodiscard]] int total_width(const std::vector<std::size_t>& shown,
                                const std::vector<int>& widths) const;
  void shorten(const std::vector<std::size_t>& shown, std::vector<int>& widths, int width) const;

  std::vector<Column> columns_;
  int indent_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace paceline::cli
