// W73: compiled kernels are kept on disk, found by what made them, and rebuilt when in doubt.
// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "rules/window_fixture.hpp"
#include "temporary_folder.hpp"

namespace salvo::tests {
namespace {

namespace fs = std::filesystem;

class W73Disk : public ::testing::Test {
 protected:
  static constexpr int kCount = 1000;

  struct Run {
    std::size_t built = 0, loaded = 0;
    DiskCacheCounts counts;
    std::vector<float> result;
    friend bool operator==(const Run& a, const Run& b) {
      return a.built == b.built && a.loaded == b.loaded && a.counts == b.counts &&
             same_bits(a.result, b.result);
    }
    friend std::ostream& operator<<(std::ostream& out, const Run& run) {
      const DiskCacheCounts& c = run.counts;
      return out << run.built << " built, " << run.loaded << " loaded; " << c.hits << " hits, "
                 << c.misses << " misses, " << c.rejected << " rejected, " << c.stored
                 << " stored, " << c.unwritable << " unwritable";
    }
  };

  /// What a process does that launches two kernels, fused or not, once.
  Run run(const FakeOptions& options = {}, bool fused = false,
          std::map<std::string, std::string> variables = {}) {
    FakeRuntime fake(
        options,
        [variables](const char* name) {
          const auto found = variables.find(name);
          return found == variables.end() ? nullptr : found->second.c_str();
        },
        folder.string());
    fake.window().set_epilogue_enabled(false);
    fake.window().set_enabled(fused);
    if (prepare) prepare(*fake.control);
    Vector<float> x(std::vector<float>(kCount, 1.1f));
    Vector<float> y(kCount), z(kCount);
    fake.device().launch(scaled("third", 1.0f / 3), over(kCount), x, y, kCount);
    fake.device().launch(scaled("tenth", 0.1f), over(kCount), x, z, kCount);
    Run result{0, 0, {}, values(y)};
    const std::vector<float> more = values(z);
    result.result.insert(result.result.end(), more.begin(), more.end());
    result.built = fake.control->count(Driver::build);
    result.loaded = fake.control->count(Driver::load);
    result.counts = fake.runtime.disk_cache().this_runtime;
    return result;
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> all;
    for (const auto& one : fs::directory_iterator(folder.path())) {
      if (one.path().filename() != "counts.salvo") all.push_back(one.path());
    }
    return all;
  }
  /// The result of both kernels without any cache.
  std::vector<float> expected() { return run({}, false, {{"SALVO_DISK_CACHE", "0"}}).result; }

  TemporaryFolder folder;
  std::function<void(FakeControl&)> prepare{};
};

TEST_F(W73Disk, W73_TheSecondProcessLoadsInsteadOfBuilding) {
  const std::vector<float> bits = expected();
  EXPECT_EQ(run(), (Run{2, 0, {.misses = 2, .stored = 2}, bits}));
  EXPECT_EQ(run(), (Run{0, 2, {.hits = 2}, bits}));
}

TEST_F(W73Disk, W73_ClearingRemovesWhatIsKeptAndTheNextProcessBuilds) {
  const Run first = run();
  EXPECT_EQ(entries().size(), 2U);
  FakeRuntime(
      FakeOptions{}, [](const char*) { return nullptr; }, folder.string())
      .runtime.clear_disk_cache();
  EXPECT_EQ(entries().size(), 0U);
  EXPECT_EQ(run(), first);
}

TEST_F(W73Disk, W73_FusedKernelsAreKeptToo) {
  const std::vector<float> bits = expected();
  EXPECT_EQ(run({}, true), (Run{1, 0, {.misses = 1, .stored = 1}, bits}));
  EXPECT_EQ(run({}, true), (Run{0, 1, {.hits = 1}, bits}));
}

TEST_F(W73Disk, W73_AnythingThatDecidesTheBinaryLeadsToABuild) {
  run();
  const Run anew{2, 0, {.misses = 2, .stored = 2}, expected()};
  FakeOptions other;
  other.adjust = [](DeviceProperties& properties) { properties.driver_version = "1.1"; };
  EXPECT_EQ(run(other), anew) << "driver version";
  other.adjust = [](DeviceProperties& properties) { properties.name = "Another"; };
  EXPECT_EQ(run(other), anew) << "device";
  other.adjust = [](DeviceProperties& properties) { properties.vendor = "Another"; };
  EXPECT_EQ(run(other), anew) << "vendor";
  other.adjust = {};
  other.build_identity = "fake compiler 2";
  EXPECT_EQ(run(other), anew) << "device compiler";
  other = {};
  other.backend = "LevelZero";
  EXPECT_EQ(run(other), anew) << "backend";
  other = {};
  other.rewrite = [](runtime::Program& program) { program.options = {"-O3"}; };
  EXPECT_EQ(run(other), anew) << "options";
  other.rewrite = [](runtime::Program& program) { program.code += " // changed"; };
  EXPECT_EQ(run(other), anew) << "code";
  EXPECT_EQ(run(), (Run{0, 2, {.hits = 2}, anew.result})) << "the first ones are still there";
}

TEST_F(W73Disk, W73_ADamagedEntryIsRebuiltAndReplaced) {
  const std::vector<float> bits = expected();
  run();
  const std::vector<fs::path> all = entries();
  ASSERT_EQ(all.size(), 2U);
  fs::resize_file(all[0], fs::file_size(all[0]) / 2);
  std::fstream(all[1], std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end)
      << 'X';
  EXPECT_EQ(run(), (Run{2, 0, {.rejected = 2, .stored = 2}, bits}));
  EXPECT_EQ(run(), (Run{0, 2, {.hits = 2}, bits}));
}

TEST_F(W73Disk, W73_AnEntryUnderTheNameOfAnotherIsNotLoaded) {
  run();
  const std::vector<fs::path> all = entries();
  ASSERT_EQ(all.size(), 2U);
  fs::remove(all[1]);
  fs::copy_file(all[0], all[1]);
  EXPECT_EQ(run(), (Run{1, 1, {.hits = 1, .rejected = 1, .stored = 1}, expected()}));
}

TEST_F(W73Disk, W73_ABinaryThatTheDriverRefusesIsRebuilt) {
  run();
  prepare = [](FakeControl& control) { control.fail(Driver::load, 1, "", Errc::compile_failed); };
  EXPECT_EQ(run(), (Run{1, 1, {.hits = 1, .rejected = 1, .stored = 1}, expected()}));
  prepare = {};
  EXPECT_EQ(run(), (Run{0, 2, {.hits = 2}, expected()}));
}

TEST_F(W73Disk, W73_AKernelThatDoesNotCompileIsNotKept) {
  prepare = [](FakeControl& control) { control.fail(Driver::build, 1, "", Errc::compile_failed); };
  EXPECT_THROW(run(), Error);
  EXPECT_TRUE(entries().empty());
}

TEST_F(W73Disk, W73_TheVariableTurnsItOff) {
  run({}, false, {{"SALVO_DISK_CACHE", "0"}});
  EXPECT_TRUE(entries().empty());
  run();
  EXPECT_EQ(run({}, false, {{"SALVO_DISK_CACHE", "0"}}), (Run{2, 0, {}, expected()}));
}

TEST_F(W73Disk, W73_ADriverWithoutBinariesIsNotKept) {
  FakeOptions metal;
  metal.has_binary = false;
  EXPECT_EQ(run(metal), (Run{2, 0, {.misses = 2}, expected()}));
  EXPECT_TRUE(entries().empty());
}

TEST_F(W73Disk, W73_BackendsOfATestKeepNothingUnlessTold) {
  FakeRuntime fake(FakeOptions{}, [](const char* name) {
    return std::string_view(name) == "HOME" ? "/nonexistent" : nullptr;
  });
  EXPECT_FALSE(fake.runtime.disk_cache().enabled);
  EXPECT_EQ(fake.runtime.disk_cache().folder, "");
}

TEST_F(W73Disk, W73_TheFolderIsFoundByTheEnvironment) {
  using Variables = std::map<std::string, std::string>;
  const auto report = [](const Variables& variables) {
    RuntimeOptions options;
    options.built_in_backends = false;
    options.environment = [&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    };
    return Runtime(std::move(options)).disk_cache();
  };
  EXPECT_EQ(report({}).folder, "");
  EXPECT_EQ(report({{"HOME", "/nowhere"}}).folder, "/nowhere/.cache/salvo");
  EXPECT_EQ(report({{"HOME", "/nowhere"}, {"XDG_CACHE_HOME", "/c"}}).folder, "/c/salvo");
  EXPECT_EQ(report({{"HOME", "/nowhere"}, {"XDG_CACHE_HOME", "c"}}).folder,
            "/nowhere/.cache/salvo");
  EXPECT_EQ(report({{"HOME", "/nowhere"}, {"SALVO_CACHE_DIR", "/own"}}).folder, "/own");
  EXPECT_EQ(report({{"SALVO_CACHE_DIR", "own"}}).folder, fs::absolute("own").string());
  EXPECT_EQ(report({{"HOME", "/nowhere"}}).limit_bytes, std::uint64_t{512} << 20U);
  EXPECT_EQ(report({{"HOME", "/nowhere"}, {"SALVO_CACHE_SIZE", "3"}}).limit_bytes, 3U << 20U);
  EXPECT_THROW(report({{"SALVO_CACHE_SIZE", "0"}}), Error);
  EXPECT_THROW(report({{"SALVO_CACHE_SIZE", "plenty"}}), Error);
}

}  // namespace
}  // namespace salvo::tests
