// Salvo's own time of a launch on Vulkan: every call that a repeat launch makes is answered at
// once.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <salvo/salvo.hpp>

#include "backends/vulkan/vulkan_device.hpp"

namespace {

namespace vulkan = salvo::backends::vulkan;

constexpr int kLaunches = 256;
constexpr int kRounds = 400;
constexpr int kCount = 256;
constexpr std::array kBatches{1, 8, 32, 64, 256};

std::atomic<std::uint64_t> reached{0};

VkResult VKAPI_PTR submit(VkQueue, std::uint32_t, const VkSubmitInfo* info, VkFence) {
  reached = *static_cast<const VkTimelineSemaphoreSubmitInfo*>(info->pNext)->pSignalSemaphoreValues;
  return VK_SUCCESS;
}
VkResult VKAPI_PTR progress(VkDevice, VkSemaphore, std::uint64_t* value) {
  *value = reached;
  return VK_SUCCESS;
}

/// The device answers without doing anything. Needs a driver, for objects to be made by.
void mute(vulkan::DeviceApi& api) {
  api.ResetCommandPool.assign(
      [](VkDevice, VkCommandPool, VkCommandPoolResetFlags) { return VK_SUCCESS; });
  api.BeginCommandBuffer.assign(
      [](VkCommandBuffer, const VkCommandBufferBeginInfo*) { return VK_SUCCESS; });
  api.EndCommandBuffer.assign([](VkCommandBuffer) { return VK_SUCCESS; });
  api.CmdBindPipeline.assign([](VkCommandBuffer, VkPipelineBindPoint, VkPipeline) {});
  api.CmdBindDescriptorSets.assign([](VkCommandBuffer, VkPipelineBindPoint, VkPipelineLayout,
                                      std::uint32_t, std::uint32_t, const VkDescriptorSet*,
                                      std::uint32_t, const std::uint32_t*) {});
  api.CmdPushConstants.assign([](VkCommandBuffer, VkPipelineLayout, VkShaderStageFlags,
                                 std::uint32_t, std::uint32_t, const void*) {});
  api.CmdPipelineBarrier.assign([](VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags,
                                   VkDependencyFlags, std::uint32_t, const VkMemoryBarrier*,
                                   std::uint32_t, const VkBufferMemoryBarrier*, std::uint32_t,
                                   const VkImageMemoryBarrier*) {});
  api.CmdDispatch.assign([](VkCommandBuffer, std::uint32_t, std::uint32_t, std::uint32_t) {});
  api.CmdCopyBuffer.assign(
      [](VkCommandBuffer, VkBuffer, VkBuffer, std::uint32_t, const VkBufferCopy*) {});
  api.QueueSubmit.assign(submit);
  api.GetSemaphoreCounterValue.assign(progress);
  api.WaitSemaphores.assign(
      [](VkDevice, const VkSemaphoreWaitInfo*, std::uint64_t) { return VK_SUCCESS; });
}

/// Vulkan's devices, muted.
class MuteBackend final : public salvo::runtime::Backend {
 public:
  explicit MuteBackend(int batch)
      : real_(vulkan::make_backend({.batch = static_cast<std::uint32_t>(batch)})) {}
  std::string_view name() const noexcept override { return real_->name(); }
  bool is_jit() const noexcept override { return true; }
  std::vector<std::unique_ptr<salvo::runtime::DeviceDriver>> open() override {
    auto devices = real_->open();
    for (const auto& device : devices) mute(vulkan::api_of(*device));
    return devices;
  }
  const std::optional<salvo::runtime::Unavailable>& unavailable() const noexcept override {
    return real_->unavailable();
  }

 private:
  std::unique_ptr<salvo::runtime::Backend> real_;
};

/// Median nanoseconds of a launch, with the submissions that fall into it.
template <class Launch>
double nanoseconds(const Launch& launch) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i) launch(i);
    const std::chrono::duration<double, std::nano> spent =
        std::chrono::steady_clock::now() - before;
    rounds.push_back(spent.count() / kLaunches);
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

}  // namespace

int main() {
  const auto add =
      salvo::kernel("add", [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
        auto i = salvo::global_thread_id();
        salvo::if_(i < n, [&] { y[i] = y[i] + x[i]; });
      });
  fmt::print("{:>6} {:>12} {:>12}   ns a launch, medians of {} rounds of {}, no driver's time\n",
             "batch", "dependent", "independent", kRounds, kLaunches);
  for (const int batch : kBatches) {
    salvo::RuntimeOptions options;
    options.built_in_backends = false;
    options.own.list.push_back(std::make_unique<MuteBackend>(batch));
    salvo::Runtime runtime(std::move(options));
    runtime.window().set_enabled(false);
    const auto devices = runtime.by_backend("Vulkan");
    if (devices.empty()) {
      fmt::print("no Vulkan device\n");
      return 1;
    }
    const salvo::Device device = devices.front();
    salvo::Vector<float> x(std::size_t{kCount}, 1.0f);
    std::vector<salvo::Vector<float>> outputs;
    for (int i = 0; i < kLaunches; ++i) outputs.emplace_back(std::size_t{kCount});
    std::array<double, 2> times{};
    for (const bool independent : {false, true}) {
      times[independent] = nanoseconds([&](int i) {
        device.launch(add, salvo::over(kCount), x, outputs[independent ? i : 0], kCount);
      });
    }
    fmt::print("{:>6} {:>12.0f} {:>12.0f}\n", batch, times[0], times[1]);
  }
}
