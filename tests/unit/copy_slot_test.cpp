// What threads without a lock see of a storage's copy between the stores that replace it.
// SPDX-License-Identifier: MIT
#include "runtime/copy_slot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace salvo::runtime {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

/// What the atomics below do besides: `between` runs after each store, where another thread might.
struct Watch {
  std::function<void()> between;
  std::vector<std::memory_order> stores;
  mutable std::vector<std::memory_order> loads;
};
Watch* watch = nullptr;

template <typename Value>
class WatchedAtomic {
 public:
  explicit WatchedAtomic(Value value) : value_(value) {}
  Value load(std::memory_order order) const {
    watch->loads.push_back(order);
    return value_;
  }
  void store(Value value, std::memory_order order) {
    value_ = value;
    watch->stores.push_back(order);
    if (watch->between) watch->between();
  }

 private:
  Value value_;
};

class CopySlotTest : public ::testing::Test {
 protected:
  CopySlotTest() { watch = &watch_; }
  ~CopySlotTest() override { watch = nullptr; }

  Watch watch_;
  CopySlot<int, WatchedAtomic> slot_;
  int first_ = 0;
  int second_ = 0;
};

TEST_F(CopySlotTest, ADeviceSeesItsOwnCopyAlone) {
  EXPECT_EQ(slot_.device(), 0U);
  EXPECT_EQ(slot_.on(7), nullptr);
  slot_.publish(&first_, 7);
  EXPECT_EQ(slot_.device(), 7U);
  EXPECT_EQ(slot_.get(), &first_);
  EXPECT_EQ(slot_.on(7), &first_);
  EXPECT_EQ(slot_.on(8), nullptr);
  slot_.clear();
  EXPECT_EQ(slot_.device(), 0U);
  EXPECT_EQ(slot_.get(), nullptr);
}

TEST_F(CopySlotTest, ANewDeviceNeverSeesTheCopyOfTheOldOne) {
  slot_.publish(&first_, 7);
  std::vector<const int*> seen;
  watch_.between = [&] { seen.push_back(slot_.on(8)); };
  slot_.publish(&second_, 8);
  EXPECT_THAT(seen, ElementsAre(nullptr, &second_));
  EXPECT_EQ(slot_.on(7), nullptr);
}

TEST_F(CopySlotTest, NoDeviceIsSeenWithoutACopy) {
  std::vector<bool> whole;
  watch_.between = [&] { whole.push_back(slot_.device() == 0 || slot_.get() != nullptr); };
  slot_.publish(&first_, 7);
  slot_.clear();
  EXPECT_THAT(whole, ElementsAre(true, true, true, true));
}

TEST_F(CopySlotTest, StoresReleaseAndLoadsAcquire) {
  slot_.publish(&first_, 7);
  slot_.clear();
  EXPECT_EQ(slot_.on(0), nullptr);
  EXPECT_EQ(watch_.stores.size(), 4U);
  EXPECT_THAT(watch_.stores, Each(std::memory_order_release));
  EXPECT_EQ(watch_.loads.size(), 2U);
  EXPECT_THAT(watch_.loads, Each(std::memory_order_acquire));
}

}  // namespace
}  // namespace salvo::runtime
