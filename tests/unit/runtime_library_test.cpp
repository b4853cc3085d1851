// Loading drivers at run time, and counting what is asked of them.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/library.hpp"

namespace salvo::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(RuntimeLibrary, EveryNameTriedIsToldWithItsReason) {
  const Library library = Library::open({"libsalvo_absent_a.so.1", "libsalvo_absent_b.so"});
  EXPECT_FALSE(library);
  EXPECT_EQ(library.find("anything"), nullptr);
  EXPECT_THAT(library.failures(), ElementsAre(HasSubstr("libsalvo_absent_a.so.1: "),
                                              HasSubstr("libsalvo_absent_b.so: ")));
  EXPECT_THAT(library.reason(), HasSubstr("; libsalvo_absent_b.so"));
  EXPECT_THAT(library.reason(), Not(HasSubstr("libsalvo_absent_b.so: libsalvo_absent_b.so")));
}

TEST(RuntimeLibrary, TheFirstNameThatLoadsIsTaken) {
  const Library library = Library::open({"libsalvo_absent.so", "libm.so.6", "libc.so.6"});
  ASSERT_TRUE(library);
  EXPECT_EQ(library.name(), "libm.so.6");
  EXPECT_THAT(library.failures(), ElementsAre(HasSubstr("libsalvo_absent.so")));
}

TEST(RuntimeLibrary, FunctionsCountTheirCalls) {
  const Library library = Library::open({"libm.so.6"});
  Function<double (*)(double)> cube_root;
  EXPECT_FALSE(cube_root);
  ASSERT_TRUE(cube_root.resolve(library, "cbrt"));
  EXPECT_EQ(cube_root(27.0) + cube_root(8.0), 5.0);
  EXPECT_EQ(cube_root.calls(), 2u);
  Function<double (*)(double)> absent;
  EXPECT_FALSE(absent.resolve(library, "salvo_absent"));
  EXPECT_FALSE(absent);
}

}  // namespace
}  // namespace salvo::runtime
