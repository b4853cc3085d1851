// Layout of the tool's text tables.
// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace salvo::tool {
namespace {

TEST(Table, AlignsColumnsAndCountsCharactersNotBytes) {
  Table table({{"name"}, {"µs", Align::right}});
  table.add_row({"a", "1.5"});
  table.add_row({"longer", "22"});
  EXPECT_EQ(table.text(),
            "name     µs\n"
            "------  ---\n"
            "a       1.5\n"
            "longer   22\n");
}

TEST(Table, LeavesNoTrailingSpaces) {
  Table table({{"a"}, {"b"}});
  table.add_row({"x", ""});
  EXPECT_EQ(table.text(), "a  b\n-  -\nx\n");
}

TEST(Table, RefusesARowOfAnotherLength) {
  Table table({{"a"}, {"b"}});
  EXPECT_THROW(table.add_row({"x"}), std::invalid_argument);
}

}  // namespace
}  // namespace salvo::tool
