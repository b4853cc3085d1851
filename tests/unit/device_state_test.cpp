// What of a device's state ends with the program (W61), against a build that lasts.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "fake/fake_backend.hpp"
#include "ir/hash.hpp"
#include "runtime/core.hpp"
#include "salvo/error.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::tests {
namespace {

class DeviceClosed : public testing::Test {
 protected:
  ~DeviceClosed() override { watch_builds(nullptr); }

  static std::vector<std::unique_ptr<runtime::Backend>> fakes() {
    std::vector<std::unique_ptr<runtime::Backend>> backends;
    backends.push_back(make_fake_backend(std::make_shared<FakeControl>()));
    return backends;
  }

  runtime::Executable& build() {
    return device_.executable(kernel_, ir::hash(kernel_), runtime::TranslateOptions{});
  }

  const ir::Kernel kernel_ = test::Shapes("empty").finish();
  runtime::Core core_{runtime::Environment([](const char*) { return nullptr; }), fakes(), ""};
  runtime::DeviceState& device_ = *core_.devices().at(0);
};

TEST_F(DeviceClosed, W61_WaitsForABuildOfAnotherThread) {
  std::promise<void> began, go_on;
  std::atomic<bool> built{false}, closed{false};
  watch_builds([&](const ir::Kernel&) {
    began.set_value();
    go_on.get_future().wait();
    built = true;
  });
  std::thread builder([this] { build(); });
  began.get_future().wait();
  std::thread releaser([&] {
    // Closing has begun once it holds the issue lock.
    while (!closed && device_.issue_lock().try_lock()) {
      device_.issue_lock().unlock();
      std::this_thread::yield();
    }
    go_on.set_value();
  });
  device_.close();
  EXPECT_TRUE(built);
  closed = true;
  releaser.join();
  builder.join();
}

TEST_F(DeviceClosed, W61_BuildsAndMeasuresNothing) {
  device_.close();
  int builds = 0;
  watch_builds([&](const ir::Kernel&) { ++builds; });
  try {
    build();
    ADD_FAILURE() << "built for a device that is closed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::no_device);
    EXPECT_STREQ(error.what(), "the program is exiting");
  }
  EXPECT_FALSE(device_.float_probe().measured);
  EXPECT_EQ(builds, 0);
}

}  // namespace
}  // namespace salvo::tests
