// R14 and interoperation on NVIDIA hardware: several GPUs, other libraries' memory and streams.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cuda/cuda_api.hpp"
#include "salvo/salvo.hpp"

namespace salvo::tests {
namespace {

using backends::cuda_family::Api;

constexpr int kCount = 100'000;

class CudaDevices : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    devices_ = Device::by_backend(GetParam());
    if (devices_.empty()) GTEST_SKIP() << "no device of " << GetParam();
    window::set_enabled(true);
    window::set_planner(Planner::always);
  }
  static Kernel<Span<float>, Int> incremented() {
    return kernel("increment", [](Span<float> x, Int n) {
      auto i = global_thread_id();
      if_(i < n, [&] { x[i] += 1.0f; });
    });
  }
  static void expect_all(const VectorView<const float>& vector, float value) {
    const auto values = vector.read();
    ASSERT_EQ(values.size(), static_cast<std::size_t>(kCount));
    for (float one : values) ASSERT_EQ(one, value);
  }
  std::vector<Device> devices_;
};

TEST_P(CudaDevices, R14_AVectorWandersOverAllGpus) {
  if (devices_.size() < 2) GTEST_SKIP() << "one GPU only";
  const auto increment = incremented();
  Vector<float> x(kCount, 0.5f);
  for (int round = 0; round < 5; ++round) {
    for (const Device& device : devices_) device.launch(increment, over(kCount), x, kCount);
  }
  expect_all(x, 0.5f + 5.0f * static_cast<float>(devices_.size()));
}

TEST_P(CudaDevices, R14_CopiesGoStraightFromGpuToGpu) {
  if (devices_.size() < 2) GTEST_SKIP() << "one GPU only";
  const auto increment = incremented();
  Vector<float> x(kCount, 1.0f), y(kCount, 5.0f);
  devices_[0].launch(increment, over(kCount), x, kCount);
  devices_[1].launch(increment, over(kCount), y, kCount);
  devices_[0].synchronize();
  devices_[1].synchronize();
  const Api& api = backends::cuda::drivers().api();
  const auto peer = api.CopyPeer.calls();
  const auto host = api.CopyToHost.calls() + api.CopyToDevice.calls();
  copy(x, 10, y, 20, 1000);
  EXPECT_EQ(api.CopyPeer.calls(), peer + 1);
  devices_[1].launch(increment, over(kCount), x, kCount);  // the whole vector follows
  devices_[1].synchronize();
  EXPECT_EQ(api.CopyPeer.calls(), peer + 2);
  EXPECT_EQ(api.CopyToHost.calls() + api.CopyToDevice.calls(), host);
  expect_all(x, 3.0f);
  const auto values = y.read();
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], i >= 20 && i < 1020 ? 2.0f : 6.0f) << i;
  }
}

TEST_P(CudaDevices, R14_EachGpuHasItsOwnWindow) {
  if (devices_.size() < 2) GTEST_SKIP() << "one GPU only";
  const auto increment = incremented();
  window::reset_stats();
  std::vector<Vector<float>> vectors;
  for (std::size_t i = 0; i < 2 * devices_.size(); ++i) vectors.emplace_back(kCount, 1.0f);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    devices_[i % devices_.size()].launch(increment, over(kCount), vectors[i], kCount);
  }
  window::flush();
  EXPECT_EQ(window::stats().issued, devices_.size());  // two launches of each became one
  for (const auto& vector : vectors) expect_all(vector, 2.0f);
}

TEST_P(CudaDevices, R14_BothCudaBackendsShareAGpu) {
  const auto others = Device::by_backend(GetParam() == "CUDA/C" ? "CUDA/PTX" : "CUDA/C");
  if (others.empty()) GTEST_SKIP() << "the other CUDA backend is not there";
  const auto increment = incremented();
  Vector<float> x(kCount, 1.0f);
  for (int round = 0; round < 4; ++round) {
    devices_.front().launch(increment, over(kCount), x, kCount);
    others.front().launch(increment, over(kCount), x, kCount);
  }
  expect_all(x, 9.0f);
}

TEST_P(CudaDevices, ABlockWithTooFewRegistersForTheKernelRunsAllTheSame) {
  constexpr int kValues = 96;
  const auto heavy = kernel("heavy", [](Span<const float> x, Span<float> y, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      std::vector<Value<float>> values;
      for (int k = 0; k < kValues; ++k) values.push_back(x[i + n * k]);
      for (int round = 0; round < 3; ++round) {
        std::vector<Value<float>> next;
        for (int k = 0; k < kValues; ++k) {
          next.push_back(values[static_cast<std::size_t>(k)] *
                             values[static_cast<std::size_t>((k * 7 + 5) % kValues)] +
                         values[static_cast<std::size_t>((k * 13 + 1) % kValues)]);
        }
        values = std::move(next);
      }
      for (int k = 0; k < kValues; ++k) y[i + n * k] = values[static_cast<std::size_t>(k)];
    });
  });
  constexpr int kThreads = 4096;
  Vector<float> x(kThreads * kValues), small(x.size()), large(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000) * 1e-3f;
  devices_.front().launch(heavy, grid(kThreads / 128).block(128), x, small, kThreads);
  devices_.front().launch(heavy, grid(kThreads / 1024).block(1024), x, large, kThreads);
  const auto expected = small.read();
  const auto got = large.read();
  EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size_bytes()), 0);
}

TEST_P(CudaDevices, W79_ASequenceIsReplayedWhereverItsViewsBegin) {
  // Each launch reads what the one before wrote, and no merge is possible: ten of them in a row are
  // one graph when they come again. Views that begin at a multiple of 16 bytes have another kernel
  // function than those that do not.
  const auto turn = kernel("turn", [](Span<const float> x, Span<float> y) {
    auto i = global_thread_id();
    for (int k = 0; k < 4; ++k) y[i * 4 + k] = x[i * 4 + (3 - k)] + 1.0f;
  });
  constexpr int kThreads = 256;
  constexpr std::size_t kElements = 4 * kThreads;
  Vector<float> x(kElements + 4), y(kElements + 4);
  std::vector<float> expected(kElements + 4);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = static_cast<float>(i);
    x[i] = expected[i];
  }
  window::reset_stats();
  for (const std::size_t first : {0, 0, 0, 1, 0, 1, 2, 3, 4, 0}) {
    for (int launch = 0; launch < 10; ++launch) {
      const auto& from = launch % 2 == 0 ? x : y;
      auto& to = launch % 2 == 0 ? y : x;
      devices_.front().launch(turn, over(kThreads), from.view(first, kElements),
                              to.view(first, kElements));
    }
    for (int launch = 0; launch < 10; ++launch) {
      for (std::size_t i = first; i < first + kElements; i += 4) {
        std::swap(expected[i], expected[i + 3]);
        std::swap(expected[i + 1], expected[i + 2]);
        for (std::size_t k = i; k < i + 4; ++k) expected[k] += 1.0f;
      }
    }
    const auto got = x.read();
    ASSERT_TRUE(std::ranges::equal(got, expected)) << "from element " << first;
  }
  EXPECT_EQ(window::stats().issued, 100U);
}

/// Memory and a stream as another CUDA library makes them: in the primary context.
class Foreign {
 public:
  Foreign() {
    int device = 0;
    EXPECT_EQ(api_.DeviceGet(&device, 0), 0);
    EXPECT_EQ(api_.PrimaryRetain(&context_, device), 0);
    EXPECT_EQ(api_.ContextPush(context_), 0);
    EXPECT_EQ(api_.MemAlloc(&address_, kCount * sizeof(float)), 0);
    EXPECT_EQ(api_.StreamCreate(&stream_, 1, 0), 0);
  }
  ~Foreign() {
    EXPECT_EQ(api_.StreamSynchronize(stream_), 0);
    EXPECT_EQ(api_.StreamDestroy(stream_), 0);
    EXPECT_EQ(api_.MemFree(address_), 0);
    EXPECT_EQ(api_.ContextPop(&context_), 0);
    EXPECT_EQ(api_.PrimaryRelease(0), 0);
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  void write(const std::vector<float>& values) {
    EXPECT_EQ(api_.CopyToDevice(address_, values.data(), values.size() * sizeof(float), stream_),
              0);
  }
  std::vector<float> read() {
    std::vector<float> values(kCount);
    EXPECT_EQ(api_.CopyToHost(values.data(), address_, values.size() * sizeof(float), stream_), 0);
    EXPECT_EQ(api_.StreamSynchronize(stream_), 0);
    return values;
  }
  std::uint64_t address() const { return address_; }
  std::uintptr_t stream() const { return reinterpret_cast<std::uintptr_t>(stream_); }

 private:
  const Api& api_ = backends::cuda::drivers().api();
  backends::cuda_family::Context context_ = nullptr;
  backends::cuda_family::Address address_ = 0;
  backends::cuda_family::Stream stream_ = nullptr;
};

TEST_P(CudaDevices, WrappedMemoryIsReadAndWrittenInAWrappedStreamsOrder) {
  Foreign other;
  const auto increment = incremented();
  const Stream stream = Stream::wrap(devices_.front(), other.stream());
  EXPECT_EQ(stream.native(), other.stream());
  const auto view = wrap_device_memory<float>(devices_.front(), other.address(), kCount);
  // No wait between the libraries: the stream orders all of it.
  const std::vector<float> given(kCount, 2.0f);
  other.write(given);
  stream.launch(increment, over(kCount), view, kCount);
  stream.launch(increment, over(kCount), view, kCount);
  EXPECT_EQ(other.read(), std::vector<float>(kCount, 4.0f));
  expect_all(view, 4.0f);
}

TEST_P(CudaDevices, LaunchesOnNoStreamUseWrappedMemoryToo) {
  Foreign other;
  other.write(std::vector<float>(kCount, 1.0f));
  static_cast<void>(other.read());  // waits
  const auto view = wrap_device_memory<float>(devices_.front(), other.address(), kCount);
  window::reset_stats();
  devices_.front().launch(incremented(), over(kCount), view, kCount);
  EXPECT_EQ(window::stats().held, 0U);  // W24
  devices_.front().synchronize();
  EXPECT_EQ(other.read(), std::vector<float>(kCount, 2.0f));
}

TEST_P(CudaDevices, AddressesOfNoMemoryAreRefused) {
  Foreign other;
  const auto refused = [&](std::uint64_t address, std::size_t count) {
    try {
      wrap_device_memory<float>(devices_.front(), address, count);
    } catch (const Error& error) {
      return error.code() == Errc::invalid_argument;
    }
    return false;
  };
  EXPECT_TRUE(refused(0x1000, 1));
  EXPECT_TRUE(refused(other.address(), std::size_t{1} << 32));
  EXPECT_FALSE(refused(other.address(), kCount));
}

INSTANTIATE_TEST_SUITE_P(Backends, CudaDevices, testing::Values("CUDA/PTX", "CUDA/C"),
                         [](const testing::TestParamInfo<std::string>& backend) {
                           return backend.param == "CUDA/C" ? "CudaC" : "CudaPtx";
                         });

}  // namespace
}  // namespace salvo::tests
