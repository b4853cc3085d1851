// R9, R10: code that the program brings, on the recording fake device.
// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <optional>

#include "caught.hpp"
#include "rules/window_fixture.hpp"
#include "window/kernel_record.hpp"

namespace salvo::tests {
namespace {

/// A compiler that knows two programs and refuses the rest.
std::optional<ir::Kernel> compile(const runtime::UserSource& source) {
  if (source.code == "scale") {
    return kernel(source.entry,
                  [](Span<float> from, Span<float> to, Float by, Int n) {
                    auto i = global_thread_id();
                    if_(i < n, [&] { to[i] = from[i] * by; });
                  })
        .record()
        ->kernel;
  }
  return std::nullopt;
}

class R9Source : public ::testing::Test {
 protected:
  static constexpr int kCount = 100;
  FakeRuntime fake{FakeOptions{.compiler = compile}};
  Device device = fake.device();
  Source scale{.language = "fake C", .code = "scale", .entry = "scale_all"};
  Floats twice = scaled("twice", 2.0f);
  Vector<float> x{std::vector<float>(kCount, 3.0f)}, y = Vector<float>(kCount),
                                                     z = Vector<float>(kCount);
};

TEST_F(R9Source, R9_SourceRunsOnItsArguments) {
  run_source(device, scale, over(kCount), x, y, 5.0f, kCount);
  EXPECT_EQ(y[99], 15.0f);
  run_source(device, scale, over(kCount), x, z, -1.0f, kCount);
  EXPECT_EQ(z[99], -3.0f);
  EXPECT_EQ(fake.control->count(Driver::build_source), 1U);
}

TEST_F(R9Source, W7_SourceIsNeverHeldAndIssuesWhatWasHeldFirst) {
  device.launch(twice, over(kCount), x, y, kCount);
  run_source(device, scale, over(kCount), y, z, 5.0f, kCount);
  EXPECT_EQ(fake.control->launched(), (std::vector<std::string>{"twice", "scale_all"}));
  EXPECT_EQ(fake.window().stats().refusals.at(Reason::native_code), 1U);
  EXPECT_EQ(fake.window().stats().issued, 2U);
  EXPECT_EQ(z[0], 30.0f);
}

TEST_F(R9Source, R9_EveryVectorCountsAsWritten) {
  run_source(device, scale, over(kCount), x, y, 5.0f, kCount);
  fake.control->clear();
  EXPECT_EQ(x[0], 3.0f);
  EXPECT_EQ(fake.control->count(Driver::read), 1U);
}

TEST_F(R9Source, R9_AFailedCompilationSaysWhereAndHoldsTheLog) {
  const Source wrong{"fake C", "nonsense", "broken"};
  const Error error = caught([&] { run_source(device, wrong, over(kCount), x); });
  const unsigned line = __LINE__ - 1;
  EXPECT_EQ(error.code(), Errc::compile_failed);
  EXPECT_EQ(error.kernel(), "broken");
  EXPECT_EQ(error.log(), "line 1: nonsense");
  EXPECT_EQ(error.launch_location().line, line);
}

TEST_F(R9Source, R9_ArgumentsAreCheckedByNumberThenKindThenSize) {
  const auto message = [&](auto... arguments) {
    return caught([&] { run_source(device, scale, over(kCount), arguments...); }).message();
  };
  const VectorView<float> a = x, b = y;
  EXPECT_EQ(message(a, b, 5.0f), "argument 3 is missing; the kernel takes 4");
  EXPECT_EQ(message(a, b, 5.0f, kCount, 1), "argument 4 is one too many; the kernel takes 4");
  EXPECT_EQ(message(a, 1, 5.0f, kCount),
            "argument 1 is a scalar of 4 bytes; the kernel takes a vector");
  EXPECT_EQ(message(a, b, 5.0, kCount),
            "argument 2 is a scalar of 8 bytes; the kernel takes a scalar of 4 bytes");
  EXPECT_EQ(message(a, b, 5.0f, b), "argument 3 is a vector; the kernel takes a scalar of 4 bytes");
  EXPECT_EQ(fake.window().stats().submitted, 0U);
}

TEST_F(R9Source, R9_AFailedLaunchIsRaisedAtOnceAndLeavesTheVectorsAsTheyWere) {
  fake.control->fail(Driver::launch);
  const Error error = caught([&] { run_source(device, scale, over(kCount), x, y, 5.0f, kCount); });
  EXPECT_EQ(error.kernel(), "scale_all");
  EXPECT_EQ(fake.window().stats().failed, 1U);
  fake.control->clear();
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(fake.control->count(Driver::read), 0U);
}

TEST_F(R9Source, R9_BadDimsAreErrorsAndEmptyOnesLaunchNothing) {
  EXPECT_EQ(caught([&] { run_source(device, scale, over(-1), x, y, 5.0f, kCount); }).message(),
            "over(-1): negative");
  run_source(device, scale, over(0), x, y, 5.0f, kCount);
  EXPECT_EQ(fake.window().stats().submitted, 0U);
}

TEST_F(R9Source, R9_AFilesExtensionSaysItsLanguage) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir());
  const std::vector<std::pair<std::string, std::string>> languages{
      {".cl", "OpenCL C"}, {".cu", "CUDA C"},  {".hip", "HIP"}, {".metal", "MSL"},
      {".comp", "GLSL"},   {".spv", "SPIR-V"}, {".ptx", "PTX"}};
  for (const auto& [extension, language] : languages) {
    const std::string path = (folder / ("salvo_source" + extension)).string();
    std::ofstream(path, std::ios::binary) << std::string("scale\0x", 7);
    const Source source = Source::from_file(path, "entry", {"-O2"});
    EXPECT_EQ(source.language, language);
    EXPECT_EQ(source.code, std::string("scale\0x", 7));
    EXPECT_EQ(source.entry, "entry");
    EXPECT_EQ(source.options, std::vector<std::string>{"-O2"});
    std::filesystem::remove(path);
  }
  EXPECT_EQ(caught([] { Source::from_file("a.txt", "entry"); }).code(), Errc::invalid_argument);
  EXPECT_EQ(caught([] { Source::from_file("no/such/file.cl", "entry"); }).code(), Errc::io);
}

TEST_F(R9Source, R10_ARawKernelKeepsItsArgumentsBetweenLaunches) {
  RawKernel raw(device, scale);
  raw.set(3, kCount);
  raw.set(2, 5.0f);
  raw.set(0, x);
  {
    Vector<float> gone(kCount);
    raw.set(1, gone);
  }
  raw.launch(over(kCount));  // it keeps that vector
  raw.set(1, y);
  device.launch(twice, over(kCount), x, z, kCount);
  raw.launch(over(kCount));
  EXPECT_EQ(fake.control->launched(),
            (std::vector<std::string>{"scale_all", "twice", "scale_all"}));
  EXPECT_EQ(y[0], 15.0f);
}

TEST_F(R9Source, R10_MissingArgumentsAreNamed) {
  RawKernel raw(device, scale);
  raw.set(0, x);
  raw.set(2, 5.0f);
  const Error error = caught([&] { raw.launch(over(kCount)); });
  EXPECT_EQ(error.code(), Errc::invalid_argument);
  EXPECT_EQ(error.message(), "arguments 1, 3 are not set");
  EXPECT_EQ(error.kernel(), "scale_all");
  raw.set(1, y);
  EXPECT_EQ(caught([&] { raw.launch(over(kCount)); }).message(), "argument 3 is not set");
  EXPECT_EQ(fake.control->count(Driver::launch), 0U);
}

TEST_F(R9Source, R10_ExtraArgumentsAreNamed) {
  RawKernel raw(device, scale);
  EXPECT_EQ(caught([&] { raw.set(4, 1.0f); }).message(),
            "there is no argument 4; the kernel takes 4");
}

TEST(R10Untold, R10_WhereTheDriverTellsNoParametersGapsAreNamed) {
  FakeRuntime fake{FakeOptions{.compiler = compile, .tells_parameters = false}};
  Vector<float> x(10, 3.0f), y(10);
  RawKernel raw(fake.device(), Source{.language = "fake C", .code = "scale", .entry = "scale_all"});
  raw.set(0, x);
  raw.set(3, 10);
  EXPECT_EQ(caught([&] { raw.launch(over(10)); }).message(), "arguments 1, 2 are not set");
  EXPECT_EQ(caught([&] { raw.set(5000, 1); }).message(),
            "there is no argument 5000; kernels take at most 1024");
  raw.set(1, y);
  raw.set(2, 2.0f);
  raw.launch(over(10));
  EXPECT_EQ(y[9], 6.0f);
}

TEST_F(R9Source, R10_ARawKernelRunsOnAStreamOfItsDevice) {
  const Stream stream(device);
  RawKernel raw(device, scale);
  raw.set(0, x);
  raw.set(1, y);
  raw.set(2, 5.0f);
  raw.set(3, kCount);
  raw.launch(stream, over(kCount));
  EXPECT_FALSE(stream.record().query());
  EXPECT_EQ(y[0], 15.0f);

  FakeRuntime elsewhere;
  EXPECT_THROW(raw.launch(Stream(elsewhere.device()), over(kCount)), Error);
}

}  // namespace
}  // namespace salvo::tests
