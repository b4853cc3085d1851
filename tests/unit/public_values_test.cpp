// Dims and errors as a program sees them.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "caught.hpp"
#include "salvo/salvo.hpp"

namespace salvo {
namespace {

using tests::caught;

using Sizes = std::array<std::int64_t, 3>;

TEST(Dims, ARangeHasAnAutomaticBlockUntilOneIsGiven) {
  const unsigned line = __LINE__ + 1;
  const Dims range = over(1000);
  EXPECT_TRUE(range.is_range());
  EXPECT_EQ(range.range(), 1000);
  EXPECT_TRUE(range.automatic_block());
  EXPECT_EQ(range.shared_bytes(), 0);
  EXPECT_EQ(range.where().line(), line);
  EXPECT_NE(std::string_view(range.where().file_name()).find("public_values_test.cpp"),
            std::string_view::npos);

  const Dims fixed = range.block(64, 2).shared(128);
  EXPECT_TRUE(fixed.is_range());
  EXPECT_FALSE(fixed.automatic_block());
  EXPECT_EQ(fixed.block_size(), (Sizes{64, 2, 1}));
  EXPECT_EQ(fixed.shared_bytes(), 128);
  EXPECT_EQ(fixed.where().line(), line);
  EXPECT_TRUE(range.automatic_block()) << "the first one stays what it was";
}

TEST(Dims, AGridHasExactlyItsBlocksOfOneThreadUnlessTheyAreGiven) {
  const Dims blocks = grid(5, 4, 3);
  EXPECT_FALSE(blocks.is_range());
  EXPECT_FALSE(blocks.automatic_block());
  EXPECT_EQ(blocks.grid_size(), (Sizes{5, 4, 3}));
  EXPECT_EQ(blocks.block_size(), (Sizes{1, 1, 1}));
  EXPECT_EQ(blocks.block(8, 4, 2).block_size(), (Sizes{8, 4, 2}));
  EXPECT_EQ(blocks.block(8).grid_size(), (Sizes{5, 4, 3}));
}

TEST(Errors, OthersAreAttachedToACopy) {
  const Error second(Errc::out_of_memory, "second");
  const Error first({.code = Errc::launch_failed,
                     .message = "first",
                     .backend = "OpenCL",
                     .operation = "launch",
                     .kernel = "twice",
                     .launch = {"program.cpp", 12},
                     .source = {"kernels.cpp", 34},
                     .may_have_started = true,
                     .log = "compiler"});
  const Error both = first.with_others({second});
  EXPECT_TRUE(first.others().empty());
  ASSERT_EQ(both.others().size(), 1U);
  EXPECT_EQ(both.others()[0].code(), Errc::out_of_memory);
  EXPECT_EQ(both.others()[0].message(), "second");

  EXPECT_STREQ(both.what(), first.what());
  EXPECT_EQ(both.code(), Errc::launch_failed);
  EXPECT_EQ(both.message(), "first");
  EXPECT_EQ(both.backend(), "OpenCL");
  EXPECT_EQ(both.operation(), "launch");
  EXPECT_EQ(both.kernel(), "twice");
  EXPECT_EQ(both.launch_location().file, "program.cpp");
  EXPECT_EQ(both.launch_location().line, 12U);
  EXPECT_EQ(both.kernel_location().file, "kernels.cpp");
  EXPECT_EQ(both.kernel_location().line, 34U);
  EXPECT_EQ(both.log(), "compiler");
  EXPECT_TRUE(both.details().may_have_started);
}

TEST(Errors, APlaceIsKnownOnceItHasALine) {
  EXPECT_FALSE(SourceLocation{}.known());
  const SourceLocation here = SourceLocation::from(std::source_location::current());
  EXPECT_TRUE(here.known());
  EXPECT_EQ(here.line, __LINE__ - 2U);
}

TEST(Errors, AKernelThatCannotBeginIsReportedWithItsLine) {
  const auto nothing = [](Span<float> x) { x[0] = 1.0f; };
  const Error nameless = caught([&] { kernel("", nothing); });
  EXPECT_EQ(nameless.kernel_location().line, __LINE__ - 1U);
  EXPECT_EQ(nameless.message(), "a kernel needs a name");

  const Error nested =
      caught([&] { kernel("outer", [&](Span<float>) { kernel("inner", nothing); }); });
  EXPECT_EQ(nested.kernel_location().line, __LINE__ - 1U);
  EXPECT_EQ(nested.message(), "a kernel cannot be traced inside another");
}

TEST(Errors, AMalformedKernelIsNamedOnce) {
  const Error error = caught([] { kernel("jump", [](Span<float>) { break_(); }); });
  EXPECT_EQ(error.code(), Errc::invalid_kernel);
  EXPECT_EQ(error.kernel(), "jump");
  EXPECT_TRUE(error.message().starts_with("%0 break is outside any loop (")) << error.message();
}

}  // namespace
}  // namespace salvo
