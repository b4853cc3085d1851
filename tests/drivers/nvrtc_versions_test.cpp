// NVRTC in the versions that programs meet: which is loaded, what follows from it, and what is said
// where none serves.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/cuda_api.hpp"
#include "backends/cuda/cuda_backend.hpp"
#include "backends/cuda/nvrtc_api.hpp"
#include "runtime/backend.hpp"

namespace salvo::tests {
namespace {

using backends::cuda::Nvrtc;
using testing::AllOf;
using testing::HasSubstr;

/// What the folder of stand-ins holds, as it is called after "nvrtc_": a version, or why its
/// compiler does not serve.
std::string_view folder() {
  constexpr std::string_view kBefore = "/nvrtc_";
  const char* const found = std::getenv("LD_LIBRARY_PATH");
  const std::string_view path = found ? found : "";
  const std::size_t at = path.rfind(kBefore);
  return at == path.npos ? "" : path.substr(at + kBefore.size());
}
int version_there() {
  return folder() == "11" ? 11020 : folder() == "12" ? 12000 : folder() == "13" ? 13000 : 0;
}

class NvrtcVersions : public testing::Test {
 protected:
  void SetUp() override {
    if (folder().empty()) GTEST_SKIP() << "LD_LIBRARY_PATH names no folder of stand-ins";
  }
};

TEST_F(NvrtcVersions, TheNewestThatIsThereIsLoaded) {
  if (version_there() == 0) GTEST_SKIP() << "none that serves is";
  Nvrtc nvrtc;
  EXPECT_EQ(nvrtc.load(), "");
  EXPECT_EQ(nvrtc.version(), version_there());
}

TEST_F(NvrtcVersions, W31_ParametersAreAsLargeAsDriverAndCompilerTake) {
  if (version_there() == 0) GTEST_SKIP() << "no device of CUDA/C";
  const auto c = backends::cuda::make_c_backend()->open();
  ASSERT_EQ(c.size(), 1U);
  EXPECT_EQ(c[0]->properties().parameter_bytes, version_there() < 12010 ? 4096U : 32'764U);
  EXPECT_THAT(c[0]->build_identity(), HasSubstr(std::to_string(version_there())));
  const auto ptx = backends::cuda::make_ptx_backend()->open();
  ASSERT_EQ(ptx.size(), 1U);
  EXPECT_EQ(ptx[0]->properties().parameter_bytes, 32'764U);
}

TEST_F(NvrtcVersions, OneThatDoesNotServeIsToldOfAndLeavesCudaPtxAlone) {
  if (version_there() != 0) GTEST_SKIP() << "it serves";
  const auto c = backends::cuda::make_c_backend();
  EXPECT_TRUE(c->open().empty());
  ASSERT_TRUE(c->unavailable());
  EXPECT_THAT(c->unavailable()->reason,
              folder() == "newer_chips"
                  ? AllOf(HasSubstr("libnvrtc.so.13"), HasSubstr("no architecture up to sm_90"))
                  : AllOf(HasSubstr("libnvrtc.so.13 lacks"), HasSubstr("nvrtcGetCUBIN")));
  EXPECT_EQ(backends::cuda::make_ptx_backend()->open().size(), 1U);
}

TEST_F(NvrtcVersions, AMissingOneIsToldWithTheNamesTried) {
  Nvrtc nvrtc;
  const std::string reason = nvrtc.load({"libsalvo-none.so.13", "libsalvo-none.so"});
  EXPECT_THAT(reason, AllOf(HasSubstr("libsalvo-none.so.13: "), HasSubstr("libsalvo-none.so: "),
                            HasSubstr("cannot open shared object file")));
}

}  // namespace
}  // namespace salvo::tests
