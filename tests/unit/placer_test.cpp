// Where the placer puts launches in what a device holds. No launch is made, and no window is there.
// SPDX-License-Identifier: MIT
#include "window/placer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fake/fake_backend.hpp"
#include "runtime/core.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::window {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;

constexpr std::uint32_t kElements = 1024;
constexpr std::uint32_t kBlock = 256;

/// A vector of kElements floats on the device.
struct Floats {
  explicit Floats(runtime::DeviceState& device) {
    const runtime::DeviceState::IssueTurn turn(device);
    storage.make_current(device);
  }
  runtime::Storage storage{kElements * sizeof(float), alignof(float)};
};

class PlacerTest : public testing::Test {
 protected:
  /// y[i] = x[i] * factor, by way of `shared` floats of shared memory if there are any.
  static std::shared_ptr<KernelRecord> scaled(float factor, std::uint32_t shared = 0) {
    test::Shapes k("scaled");
    const auto x = k.span_parameter("x", Element::scalar(Scalar::F32), true);
    const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
    const auto n = k.scalar_parameter("n", Scalar::I32);
    const ir::ValueId i = k.position(Op::GlobalIdx, 0);
    const ir::ValueId by = k.constant(Scalar::F32, std::bit_cast<std::uint32_t>(factor));
    if (shared > 0) {
      const auto tile = k.shared_array("tile", Element::scalar(Scalar::F32), shared);
      k.store(tile, k.constant_i32(static_cast<std::int32_t>(shared) - 1), by);
    }
    k.if_else(k.op(Op::Lt, {i, k.param(n)}), [&] {
      k.store(y, i, k.op(Op::Mul, {k.load(x, i), by}));
    });
    return std::make_shared<KernelRecord>(k.finish(), std::vector<LiveValue>());
  }

  /// `from` and `to` as the two vectors of a `scaled` kernel.
  Outcome place(const std::shared_ptr<KernelRecord>& kernel, Floats& from, Floats& to,
                bool current = true) {
    launch_ = std::make_unique<HeldLaunch>();
    launch_->kernel = kernel.get();
    launch_->prepared = &kernel->on(device_);
    launch_->shape.grid[0] = kElements / kBlock;
    launch_->shape.block[0] = kBlock;
    launch_->arguments.resize(3);
    for (const std::uint32_t p : {0, 1}) {
      runtime::Storage& storage = (p == 0 ? from : to).storage;
      launch_->arguments[p].length = kElements;
      launch_->arguments[p].buffer = storage.copy_on(device_)->buffer;
      add_access(*launch_, p, storage, storage.copy_on(device_), 1);
    }
    launch_->arguments[2].bits = kElements;
    const std::lock_guard lock(held_.lock);
    placed_ = {};
    return placer_.place({device_, held_, *kernel, *launch_->prepared, launch_->shape}, launch_,
                         current, placed_);
  }

  /// Launches by group.
  std::vector<std::size_t> groups() const {
    std::vector<std::size_t> all;
    for (const auto& group : held_.groups) all.push_back(group->members.size());
    return all;
  }
  using Sizes = std::vector<std::size_t>;

  static std::vector<std::unique_ptr<runtime::Backend>> fakes(
      std::shared_ptr<tests::FakeControl> control) {
    std::vector<std::unique_ptr<runtime::Backend>> backends;
    const auto adjust = [](DeviceProperties& d) {
      d.shared_bytes_per_block = 1024;
      d.exact_arithmetic = false;  // and so it is to be probed
    };
    backends.push_back(make_fake_backend(std::move(control), {.adjust = adjust}));
    return backends;
  }

  const std::shared_ptr<tests::FakeControl> control_ = std::make_shared<tests::FakeControl>();
  runtime::Core core_{runtime::Environment([](const char*) { return nullptr; }), fakes(control_),
                      ""};
  runtime::DeviceState& device_ = *core_.devices().at(0);
  Floats x_{device_}, y_{device_}, z_{device_}, w_{device_};
  const std::shared_ptr<KernelRecord> twice_ = scaled(2.0f), thrice_ = scaled(3.0f);
  Settings settings_;
  Grants grants_;
  Counters counters_;
  Explain explain_{runtime::ExplainFormat::off};
  Placer placer_{settings_, grants_, counters_, explain_};
  Held held_;
  std::unique_ptr<HeldLaunch> launch_;  // the one placed last, if it was not taken
  Placed placed_;
};

TEST_F(PlacerTest, W26_IndependentLaunchesFormOneGroup) {
  EXPECT_EQ(place(twice_, x_, y_), Outcome::done);
  EXPECT_EQ(place(thrice_, x_, z_), Outcome::done);
  EXPECT_EQ(launch_, nullptr);
  EXPECT_EQ(groups(), Sizes({2}));
  EXPECT_EQ(held_.groups[0]->grid_x, 2 * kElements / kBlock);
  EXPECT_EQ(held_.launches(), 2U);
  EXPECT_EQ(held_.unissued, 1U);
  EXPECT_TRUE(held_.uses(*y_.storage.copy_on(device_)));
  EXPECT_FALSE(held_.uses(*w_.storage.copy_on(device_)));
  EXPECT_EQ(y_.storage.residence(), runtime::Residence::device_newer);
  EXPECT_EQ(control_->count(tests::Driver::launch), 0U);
}

TEST_F(PlacerTest, W11_AnIndependentLaunchIsPutAheadOfADependentOne) {
  settings_.set_epilogue(false);
  EXPECT_EQ(place(twice_, x_, y_), Outcome::done);
  EXPECT_EQ(place(twice_, y_, z_), Outcome::done);
  EXPECT_EQ(placed_.refused_horizontal, Reason::dependency);
  EXPECT_EQ(place(thrice_, x_, w_), Outcome::done);
  EXPECT_EQ(groups(), Sizes({2, 1}));
  EXPECT_LT(held_.groups[0]->sequence, held_.groups[1]->sequence);
  EXPECT_EQ(held_.groups[0]->members[1]->kernel, thrice_.get());
}

TEST_F(PlacerTest, W10_AFullWindowTakesNothing) {
  settings_.set_epilogue(false);
  settings_.set_limits(1, 8);
  EXPECT_EQ(place(twice_, x_, y_), Outcome::done);
  EXPECT_EQ(place(twice_, y_, z_), Outcome::make_room);
  EXPECT_NE(launch_, nullptr);
  EXPECT_EQ(groups(), Sizes({1}));
  EXPECT_FALSE(held_.uses(*z_.storage.copy_on(device_)));
  EXPECT_EQ(z_.storage.residence(), runtime::Residence::both);
  // What fits into a group needs no room.
  EXPECT_EQ(place(twice_, x_, z_), Outcome::done);
}

TEST_F(PlacerTest, W14_VectorsThatAreYetToComeAreAskedForFirst) {
  EXPECT_EQ(place(twice_, x_, y_, false), Outcome::upload);
  EXPECT_NE(launch_, nullptr);
  EXPECT_EQ(groups(), Sizes());
}

TEST_F(PlacerTest, W31_SharedMemoryIsThatOfTheLargestMember) {
  EXPECT_EQ(place(scaled(2.0f, 100), x_, y_), Outcome::done);
  EXPECT_EQ(place(scaled(3.0f, 256), x_, z_), Outcome::done);
  EXPECT_EQ(groups(), Sizes({2}));
  EXPECT_EQ(held_.groups[0]->shared.bytes_with({}), 1024U);
}

TEST_F(PlacerTest, W39_AConsumerJoinsItsProducerOnceTheDeviceIsProbed) {
  EXPECT_EQ(place(twice_, x_, y_), Outcome::done);
  EXPECT_EQ(place(thrice_, y_, z_), Outcome::probe);
  EXPECT_NE(launch_, nullptr);
  device_.float_probe();
  EXPECT_EQ(place(thrice_, y_, z_), Outcome::done);
  EXPECT_EQ(groups(), Sizes({1}));
  const HeldLaunch& merged = *held_.groups[0]->members[0];
  ASSERT_EQ(merged.parts.size(), 2U);
  EXPECT_EQ(merged.parts[0]->kernel, twice_.get());
  EXPECT_EQ(merged.parts[1]->kernel, thrice_.get());
  EXPECT_EQ(held_.launches(), 2U);
}

TEST_F(PlacerTest, W15_AKernelIsOwnedOnceWhileLaunchesOfItAreHeld) {
  EXPECT_EQ(place(twice_, x_, y_), Outcome::done);
  EXPECT_EQ(place(twice_, x_, z_), Outcome::done);
  EXPECT_EQ(held_.kernels.size(), 1U);
  EXPECT_EQ(twice_.use_count(), 2);
}

}  // namespace
}  // namespace salvo::window
