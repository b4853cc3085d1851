// Plain-text tables: columns as wide as their longest cell.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace salvo::tool {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);
  /// One cell a column.
  void add_row(std::vector<std::string> cells);
  /// Title line, rule, rows; no trailing spaces.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace salvo::tool
