// Lays out tables for a terminal.
// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace salvo::tool {
namespace {

// Columns a terminal shows for UTF-8 text whose code points are one column each.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) throw std::invalid_argument("a cell for every column");
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    titles.push_back(columns_[c].title);
    std::size_t width = width_of(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[c]));
    widths.push_back(width);
  }

  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string padding(widths[c] - width_of(cells[c]), ' ');
      if (c > 0) line += "  ";
      line += columns_[c].align == Align::left ? cells[c] + padding : padding + cells[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };

  add_line(titles);
  std::vector<std::string> rules;
  for (const std::size_t width : widths) rules.emplace_back(width, '-');
  add_line(rules);
  for (const auto& row : rows_) add_line(row);
  return out;
}

}  // namespace salvo::tool
