// How far a queue has come: by a timeline semaphore, or by fences where a device has none.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_progress.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <vector>

#include "backends/vulkan/vulkan_error.hpp"

namespace salvo::backends::vulkan {
namespace {

constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();

VkSubmitInfo submission(const VkCommandBuffer& commands) {
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  return info;
}

class Timeline final : public Progress {
 public:
  Timeline(const DeviceApi& api, VkDevice device) : api_(api), device_(device) {
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    check(api_.CreateSemaphore(device_, &info, nullptr, &semaphore_), "vkCreateSemaphore",
          Errc::backend_unavailable);
  }
  ~Timeline() override { api_.DestroySemaphore(device_, semaphore_, nullptr); }
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  VkResult submit(VkQueue queue, VkCommandBuffer commands, std::uint64_t serial) override {
    VkTimelineSemaphoreSubmitInfo values{};
    values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    values.signalSemaphoreValueCount = 1;
    values.pSignalSemaphoreValues = &serial;
    VkSubmitInfo info = submission(commands);
    info.pNext = &values;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &semaphore_;
    return api_.QueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
  }

  VkResult completed(std::uint64_t& serial) override {
    return api_.GetSemaphoreCounterValue(device_, semaphore_, &serial);
  }

  VkResult wait(std::uint64_t serial) override {
    VkSemaphoreWaitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore_;
    info.pValues = &serial;
    return api_.WaitSemaphores(device_, &info, kForEver);
  }
  const char* waits_by() const noexcept override { return "vkWaitSemaphores"; }

 private:
  const DeviceApi& api_;
  const VkDevice device_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
};

/// One fence a submission; those that were seen signalled serve again.
class Fences final : public Progress {
 public:
  Fences(const DeviceApi& api, VkDevice device) : api_(api), device_(device) {}
  ~Fences() override {
    for (const Pending& pending : pending_) api_.DestroyFence(device_, pending.fence, nullptr);
    for (VkFence fence : idle_) api_.DestroyFence(device_, fence, nullptr);
  }
  Fences(const Fences&) = delete;
  Fences& operator=(const Fences&) = delete;

  VkResult submit(VkQueue queue, VkCommandBuffer commands, std::uint64_t serial) override {
    VkFence fence = VK_NULL_HANDLE;
    if (idle_.empty()) {
      VkFenceCreateInfo made{};
      made.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
      const VkResult status = api_.CreateFence(device_, &made, nullptr, &fence);
      if (status != VK_SUCCESS) return status;
    } else {
      fence = idle_.back();
      idle_.pop_back();
    }
    const VkSubmitInfo info = submission(commands);
    const VkResult status = api_.QueueSubmit(queue, 1, &info, fence);
    if (status == VK_SUCCESS) {
      pending_.push_back({serial, fence});
    } else {
      idle_.push_back(fence);
    }
    return status;
  }

  VkResult completed(std::uint64_t& serial) override {
    VkResult status = VK_SUCCESS;
    while (!pending_.empty()) {
      status = api_.GetFenceStatus(device_, pending_.front().fence);
      if (status == VK_NOT_READY) break;
      if (status != VK_SUCCESS) return status;
      status = reach_first();
      if (status != VK_SUCCESS) return status;
    }
    serial = reached_;
    return VK_SUCCESS;
  }

  /// A queue signals fences in the order of submission.
  VkResult wait(std::uint64_t serial) override {
    const auto found = std::find_if(pending_.begin(), pending_.end(),
                                    [&](const Pending& one) { return one.serial >= serial; });
    if (found == pending_.end()) return VK_SUCCESS;
    VkResult status = api_.WaitForFences(device_, 1, &found->fence, VK_TRUE, kForEver);
    while (status == VK_SUCCESS && reached_ < serial) status = reach_first();
    return status;
  }
  const char* waits_by() const noexcept override { return "vkWaitForFences"; }

 private:
  struct Pending {
    std::uint64_t serial;
    VkFence fence;
  };

  VkResult reach_first() {
    const Pending first = pending_.front();
    const VkResult status = api_.ResetFences(device_, 1, &first.fence);
    if (status != VK_SUCCESS) return status;
    pending_.pop_front();
    idle_.push_back(first.fence);
    reached_ = first.serial;
    return VK_SUCCESS;
  }

  const DeviceApi& api_;
  const VkDevice device_;
  std::uint64_t reached_ = 0;
  std::deque<Pending> pending_;
  std::vector<VkFence> idle_;
};

}  // namespace

std::unique_ptr<Progress> Progress::make(const DeviceApi& api, VkDevice device,
                                         const DeviceFacts& facts) {
  if (facts.features12.timelineSemaphore == VK_TRUE) {
    return std::make_unique<Timeline>(api, device);
  }
  return std::make_unique<Fences>(api, device);
}

}  // namespace salvo::backends::vulkan
