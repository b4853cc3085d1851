// The cost of a dispatch on Vulkan by hand, by Salvo's backend alone, and by Salvo as a whole.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <salvo/salvo.hpp>

#include "backends/vulkan/vulkan_device.hpp"
#include "backends/vulkan/vulkan_executable.hpp"
#include "ir/builder.hpp"

namespace {

namespace ir = salvo::ir;
namespace vulkan = salvo::backends::vulkan;
using salvo::runtime::Argument;
using salvo::runtime::Buffer;

constexpr int kLaunches = 256;
constexpr int kRounds = 60;
constexpr std::uint32_t kCount = 256;
constexpr std::array kBatches{1, 8, 32, 64, 256};
constexpr salvo::runtime::LaunchShape kShape{{1, 1, 1}, {kCount, 1, 1}, 0, 0};

void check(VkResult status) {
  if (status != VK_SUCCESS) throw std::runtime_error(fmt::format("Vulkan: {}", int{status}));
}

/// y[i] = y[i] + x[i] for i < n.
ir::Kernel adding() {
  ir::Builder k("add");
  const auto x = k.span_parameter("x", ir::Element::scalar(ir::Scalar::F32), true);
  const auto y = k.span_parameter("y", ir::Element::scalar(ir::Scalar::F32), false);
  const auto n = k.scalar_parameter("n", ir::Scalar::I32);
  const ir::ValueId i = k.position(ir::Op::GlobalIdx, 0);
  const ir::ValueId inside = k.op(ir::Op::Lt, {i, k.param(n)});
  const ir::BlockId then = k.open();
  k.store(y, i, k.op(ir::Op::Add, {k.load(y, i), k.load(x, i)}));
  k.close();
  ir::Node branch;
  branch.op = ir::Op::If;
  branch.operands[0] = inside;
  branch.operand_count = 1;
  branch.blocks = {then};
  k.append(std::move(branch));
  return k.finish();
}

/// One way to make `kLaunches` dispatches; each round ends when the device is idle.
struct Way {
  std::string name;
  std::function<void(bool independent)> launch;
  std::function<void()> wait;
  std::array<std::vector<double>, 2> host;  // until the program may go on
  std::array<std::vector<double>, 2> whole;
};

/// A device, its kernel and buffers, below the public interface.
class Opened {
 public:
  explicit Opened(const vulkan::Settings& settings) {
    auto backend = vulkan::make_backend(settings);
    auto devices = backend->open();
    if (devices.empty()) throw std::runtime_error(backend->unavailable()->reason);
    driver = std::move(devices.front());
    const ir::Kernel kernel = adding();
    code = driver->build(kernel, driver->translate(kernel, {}), {});
    const std::vector<float> ones(kCount, 1.0f);
    for (int i = 0; i <= kLaunches; ++i) {
      buffers.push_back(driver->allocate(kCount * sizeof(float)));
      driver->write(driver->queue(), buffers.back(), 0, ones.data(), kCount * sizeof(float));
    }
    driver->finish(driver->queue());
  }
  ~Opened() {
    for (const Buffer& buffer : buffers) driver->release(buffer);
    code.reset();
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  std::array<Argument, 3> arguments(int i, bool independent) const {
    using salvo::runtime::AccessMode;
    return {Argument{.buffer = buffers[0], .length = kCount, .access = AccessMode::read},
            Argument{.buffer = buffers[independent ? static_cast<std::size_t>(i) + 1 : 1],
                     .length = kCount},
            Argument{.bits = kCount}};
  }

  std::unique_ptr<salvo::runtime::DeviceDriver> driver;
  std::unique_ptr<salvo::runtime::Executable> code;
  std::vector<Buffer> buffers;
};

/// What a program without a library would do: addresses in push constants, a ring of command
/// buffers, a fence each.
class ByHand {
 public:
  /// Of each submission, or of a round's last alone.
  enum class Fences { all, last };
  ByHand(Opened& on, int batch, Fences fences)
      : on_(on),
        batch_(batch),
        fences_(fences),
        api_(vulkan::api_of(*on.driver)),
        device_(vulkan::handles_of(*on.driver).device),
        queue_(vulkan::handles_of(*on.driver).queue),
        code_(static_cast<vulkan::VulkanExecutable&>(*on.code)),
        pipeline_(code_.pipeline(kShape)) {
    for (int i = 0; i < kLaunches / batch_; ++i) slots_.push_back(make_slot());
  }
  ~ByHand() {
    for (const Slot& slot : slots_) {
      api_.DestroyFence(device_, slot.fence, nullptr);
      api_.DestroyCommandPool(device_, slot.pool, nullptr);
    }
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  void launch(bool independent) {
    int i = 0;
    for (const Slot& slot : slots_) {
      check(api_.ResetCommandPool(device_, slot.pool, 0));
      VkCommandBufferBeginInfo begin{};
      begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
      begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
      check(api_.BeginCommandBuffer(slot.commands, &begin));
      api_.CmdBindPipeline(slot.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
      for (int k = 0; k < batch_; ++k) dispatch(slot.commands, i++, independent);
      check(api_.EndCommandBuffer(slot.commands));
      submit(slot, fences_ == Fences::all || &slot == &slots_.back());
      if (batch_ == 1) wait_for(slot);
    }
  }
  void wait() {
    if (batch_ == 1) return;
    if (fences_ == Fences::last) return wait_for(slots_.back());
    for (const Slot& slot : slots_) wait_for(slot);
  }

 private:
  struct Slot {
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = nullptr;
    VkFence fence = VK_NULL_HANDLE;
  };

  Slot make_slot() {
    Slot slot;
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.queueFamilyIndex = vulkan::handles_of(*on_.driver).queue_family;
    check(api_.CreateCommandPool(device_, &pool, nullptr, &slot.pool));
    VkCommandBufferAllocateInfo commands{};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    commands.commandPool = slot.pool;
    commands.commandBufferCount = 1;
    check(api_.AllocateCommandBuffers(device_, &commands, &slot.commands));
    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    check(api_.CreateFence(device_, &fence, nullptr, &slot.fence));
    return slot;
  }

  void submit(const Slot& slot, bool fence) {
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &slot.commands;
    check(api_.QueueSubmit(queue_, 1, &info, fence ? slot.fence : VK_NULL_HANDLE));
  }
  void wait_for(const Slot& slot) {
    check(api_.WaitForFences(device_, 1, &slot.fence, VK_TRUE, ~std::uint64_t{0}));
    check(api_.ResetFences(device_, 1, &slot.fence));
  }

  void dispatch(VkCommandBuffer commands, int i, bool independent) {
    if (!independent) {
      VkMemoryBarrier memory{};
      memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
      memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
      memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
      api_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                              VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &memory, 0, nullptr, 0,
                              nullptr);
    }
    std::array<std::byte, vulkan::kMostPushConstants> push{};
    const auto plan = code_.plan();
    const std::uint64_t addresses[] = {
        on_.buffers[0].address,
        on_.buffers[independent ? static_cast<std::size_t>(i) + 1 : 1].address};
    for (std::size_t p = 0; p < plan.size(); ++p) {
      std::memcpy(push.data() + plan[p].value, &kCount, sizeof(kCount));
      if (plan[p].is_span) std::memcpy(push.data() + plan[p].address, &addresses[p], 8);
    }
    api_.CmdPushConstants(commands, code_.pipeline_layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          code_.push_bytes(), push.data());
    api_.CmdDispatch(commands, 1, 1, 1);
  }

  Opened& on_;
  const int batch_;
  const Fences fences_;
  const vulkan::DeviceApi& api_;
  const VkDevice device_;
  const VkQueue queue_;
  vulkan::VulkanExecutable& code_;
  const VkPipeline pipeline_;
  std::vector<Slot> slots_;
};

/// The public interface, with the window off.
class Whole {
 public:
  explicit Whole(int batch) : batch_(std::to_string(batch)) {
    salvo::RuntimeOptions options;
    options.environment = [this](const char* name) -> const char* {
      return std::strcmp(name, "SALVO_VULKAN_BATCH") == 0 ? batch_.c_str() : nullptr;
    };
    runtime_ = std::make_unique<salvo::Runtime>(std::move(options));
    runtime_->window().set_enabled(false);
    for (int i = 0; i < kLaunches; ++i) outputs_.emplace_back(std::size_t{kCount}, 1.0f);
    device_ = std::make_unique<salvo::Device>(runtime_->by_backend("Vulkan").at(0));
  }
  void launch(bool independent) {
    for (std::size_t i = 0; i < kLaunches; ++i) {
      device_->launch(kernel_, salvo::over(int{kCount}), input_, outputs_[independent ? i : 0],
                      int{kCount});
    }
  }
  void wait() { device_->synchronize(); }

 private:
  std::string batch_;
  std::unique_ptr<salvo::Runtime> runtime_;
  std::unique_ptr<salvo::Device> device_;
  salvo::Kernel<salvo::Span<const float>, salvo::Span<float>, salvo::Int> kernel_ =
      salvo::kernel("add", [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
        auto i = salvo::global_thread_id();
        salvo::if_(i < n, [&] { y[i] = y[i] + x[i]; });
      });
  salvo::Vector<float> input_ = salvo::Vector<float>(std::size_t{kCount}, 1.0f);
  std::vector<salvo::Vector<float>> outputs_;
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void run(Way& way, bool independent, bool counts) {
  using Clock = std::chrono::steady_clock;
  const auto before = Clock::now();
  way.launch(independent);
  const auto launched = Clock::now();
  way.wait();
  const auto done = Clock::now();
  if (!counts) return;
  const auto each = [](Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count() / kLaunches;
  };
  way.host[independent].push_back(each(launched - before));
  way.whole[independent].push_back(each(done - before));
}

void measure(int batch) {
  const auto limit = static_cast<std::uint32_t>(batch);
  Opened plain({.batch = limit});
  Opened fenced({.batch = limit, .lacking = {.timeline_semaphores = true}});
  Opened by_hand_on({.batch = 1});
  ByHand by_hand(by_hand_on, batch, ByHand::Fences::all);
  ByHand one_fence(by_hand_on, batch, ByHand::Fences::last);
  Whole whole(batch);
  const auto below = [](const std::string& name, Opened& on) {
    return Way{name,
               [&on](bool apart) {
                 for (int i = 0; i < kLaunches; ++i) {
                   on.driver->launch(on.driver->queue(), *on.code, kShape, on.arguments(i, apart));
                 }
               },
               [&on] { on.driver->finish(on.driver->queue()); },
               {},
               {}};
  };
  std::array ways{
      Way{"by hand", [&](bool apart) { by_hand.launch(apart); }, [&] { by_hand.wait(); }, {}, {}},
      below("backend", plain), below("fences", fenced),
      Way{"one fence",
          [&](bool apart) { one_fence.launch(apart); },
          [&] { one_fence.wait(); },
          {},
          {}},
      Way{"Salvo", [&](bool apart) { whole.launch(apart); }, [&] { whole.wait(); }, {}, {}}};
  // Ways take turns, so that a slow spell of the machine meets each of them.
  const int rounds = batch == 1 ? kRounds / 6 : kRounds;
  for (int round = 0; round <= rounds; ++round) {
    for (Way& way : ways) {
      // The first round finds another way's device in the GPU, and a cold cache.
      for (const bool counts : {false, true}) {
        for (const bool independent : {false, true}) run(way, independent, counts && round > 0);
      }
    }
  }
  for (const Way& way : ways) {
    fmt::print("{:>6} {:>10} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f}\n", batch, way.name,
               median(way.host[0]), median(way.whole[0]), median(way.host[1]),
               median(way.whole[1]));
  }
}

}  // namespace

int main() {
  try {
    fmt::print("µs a dispatch, medians of {} rounds of {}, of {} at batch 1\n", kRounds, kLaunches,
               kRounds / 6);
    fmt::print("{:>6} {:>10} {:>21} {:>21}\n", "", "", "dependent", "independent");
    fmt::print("{:>6} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "batch", "", "host", "whole", "host",
               "whole");
    for (const int batch : kBatches) measure(batch);
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}
