// One Metal device: memory, code and work.
// SPDX-License-Identifier: MIT
#include "backends/metal/metal_device.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "backends/metal/metal_error.hpp"
#include "codegen/c_family/float_options.hpp"
#include "codegen/c_family/metal_dialect.hpp"
#include "codegen/features.hpp"

namespace salvo::backends::metal {
namespace {

using runtime::Argument;
using runtime::Buffer;
using runtime::HostBlock;
using runtime::LaunchShape;

// Of MTLResourceOptions.
constexpr UInt kShared = 0;        // memory that host and device both reach
constexpr UInt kPrivate = 2 << 4;  // the device's own

/// A blit takes offsets and sizes that are multiples of this.
constexpr std::size_t kBlitUnit = 4;
constexpr std::size_t kThreadgroupUnit = 16;
/// Room for an element of most types: Metal's validation asks for one.
constexpr std::size_t kNothingBytes = 4096;
/// Of a copy by bytes, in one dispatch.
constexpr std::size_t kMostCopied = std::size_t{1} << 30;

constexpr codegen::FeatureNames kFeatures{
    .fp64 = "f64 (MSL has none)",
    .atomics_i64 = "64-bit atomics (MSL has none)",
    .atomics_f64 = "f64 atomic add (MSL has no f64)",
    .warp_operations = "warp operations (a GPU of family Apple6 or Mac2)"};

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

Id handle_of(Buffer buffer) noexcept {
  return reinterpret_cast<Id>(buffer.handle);
}
Id handle_of(const HostBlock& block) noexcept {
  return reinterpret_cast<Id>(block.handle);
}
MetalQueue& queue_of(runtime::Queue& queue) noexcept {
  return static_cast<MetalQueue&>(queue);
}
MetalEvent& event_of(runtime::Event& event) noexcept {
  return static_cast<MetalEvent&>(event);
}

}  // namespace

MetalDevice::MetalDevice(const Api& api, const DeviceFacts& facts)
    : api_(api),
      facts_(facts),
      nothing_(new_buffer(kNothingBytes, kPrivate)),
      queue_(std::make_unique<MetalQueue>(api, new_queue())) {}

// Memory.

Owned MetalDevice::new_buffer(std::size_t bytes, UInt options) const {
  const auto refuse = [&](std::string why) {
    throw failure(Errc::out_of_memory, "newBufferWithLength:options:", std::move(why));
  };
  if (bytes > facts_.properties.max_allocation_bytes) {
    refuse(fmt::format("{} bytes were asked of a device whose buffers have {} at most", bytes,
                       facts_.properties.max_allocation_bytes));
  }
  // Rounded up, so that a blit of the last bytes can be.
  Owned made =
      own(api_, api_.new_buffer(facts_.handle.get(),
                                rounded_up(std::max<std::size_t>(bytes, 1), kBlitUnit), options));
  if (!made) refuse(fmt::format("no buffer of {} bytes could be made", bytes));
  return made;
}

Buffer MetalDevice::allocate(std::size_t bytes) {
  Owned made = new_buffer(bytes, facts_.unified_memory ? kShared : kPrivate);
  return {.handle = reinterpret_cast<std::uintptr_t>(made.release()), .bytes = bytes};
}

void MetalDevice::release(Buffer buffer) noexcept {
  if (buffer) api_.objc_release(handle_of(buffer));
}

HostBlock MetalDevice::allocate_host(std::size_t bytes) {
  Owned made = new_buffer(bytes, kShared);
  void* const data = api_.contents(made.get());
  return {data, bytes, reinterpret_cast<std::uintptr_t>(made.release())};
}

void MetalDevice::release_host(HostBlock block) noexcept {
  if (block.handle != 0) api_.objc_release(handle_of(block));
}

// Code.

runtime::Program MetalDevice::translate(const ir::Kernel& kernel,
                                        const runtime::TranslateOptions&) const {
  codegen::Requirements required(kernel, facts_.properties, kName, kFeatures);
  required.need(required.needs().has_fence, facts_.fences, "fences (Metal 3.2, macOS 15)");
  const std::uint32_t slots = parameter_cost(kernel).slots;
  required.need(
      true, slots <= facts_.properties.argument_slots,
      fmt::format("{} argument slots (it has {})", slots, facts_.properties.argument_slots));
  required.check();
  // Mode `device` compiles as `off` (W50), and MSL has no word for what does not overlap.
  auto [entry, code] = codegen::c_family::print_metal(kernel);
  return {std::move(entry), std::move(code), {}, kernel.name};
}

std::unique_ptr<runtime::Executable> MetalDevice::build(const ir::Kernel& kernel,
                                                        const runtime::Program& program,
                                                        std::span<const std::byte>) {
  // There is no binary to load: the system keeps what it compiled (W73).
  auto executable = std::make_unique<MetalExecutable>(
      facts_.compiler->compile(program.code, program.entry, program.name), kernel.name);
  const std::vector<bool> lengths = codegen::c_family::reads_length(kernel);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter& parameter = kernel.parameters[i];
    const ArgumentPlan plan{.is_span = parameter.is_span,
                            .length = lengths[i],
                            .bytes = parameter.is_span ? 0 : ir::size_of(parameter.type)};
    executable->plan.insert(executable->plan.end(), parameter.slots, plan);
  }
  executable->dynamic_shared = kernel.has_dynamic_shared();
  return executable;
}

std::unique_ptr<runtime::Executable> MetalDevice::build_source(const runtime::UserSource& source) {
  const auto refuse = [&](Errc code, std::string message) {
    Error::Details details = failure(code, "compile user source", std::move(message)).details();
    details.kernel = source.entry;
    throw Error(std::move(details));
  };
  if (source.language != "MSL") {
    refuse(Errc::unsupported, fmt::format("Metal compiles MSL, not {}", source.language));
  }
  const std::string relaxing = codegen::c_family::relaxing_option(source.options);
  if (!relaxing.empty()) {
    refuse(Errc::invalid_argument, fmt::format("the option {} relaxes floating point", relaxing));
  }
  if (!source.options.empty()) {
    refuse(Errc::unsupported, fmt::format("Metal's compiler takes no options as text, such as {}",
                                          source.options.front()));
  }
  auto executable = std::make_unique<MetalExecutable>(
      facts_.compiler->compile(source.code, source.entry, source.entry), source.entry);
  executable->has_plan = false;
  return executable;
}

runtime::ParameterCost MetalDevice::parameter_cost(const ir::Kernel& kernel) const {
  runtime::ParameterCost cost;
  for (const ir::Parameter& parameter : kernel.parameters) {
    cost.slots += (parameter.is_span ? 2 : 1) * parameter.slots;
    cost.bytes += 8 * parameter.slots;
  }
  return cost;
}

std::uint32_t MetalDevice::preferred_block(const runtime::Executable* executable) const {
  if (!executable) return 0;
  const auto& code = static_cast<const MetalExecutable&>(*executable);
  // Whole warps, enough of them to hide latency. A kernel of many registers has a lower limit.
  const std::uint32_t usual = std::max(256u, code.pipeline.warp_size);
  return std::bit_floor(std::min(usual, std::max(code.pipeline.max_threads, 1u)));
}

// Launches.

void MetalDevice::encode_arguments(Id encoder, const MetalExecutable& code,
                                   std::span<const Argument> arguments) const {
  UInt index = 0;
  const auto bind = [&](const Argument& argument) {
    const Id buffer = handle_of(argument.buffer);
    api_.set_buffer(encoder, buffer ? buffer : nothing_.get(), buffer ? argument.byte_offset : 0,
                    index++);
  };
  if (!code.has_plan) {
    // The language's own types: a pointer for a vector, at most 8 bytes of anything else.
    for (const Argument& argument : arguments) {
      if (argument.buffer) {
        bind(argument);
      } else {
        api_.set_bytes(encoder, &argument.bits, sizeof(argument.bits), index++);
      }
    }
    return;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArgumentPlan& plan = code.plan[i];
    if (!plan.is_span) {
      api_.set_bytes(encoder, &arguments[i].bits, plan.bytes, index++);
      continue;
    }
    bind(arguments[i]);
    if (plan.length) {
      api_.set_bytes(encoder, &arguments[i].length, sizeof(arguments[i].length), index++);
    }
  }
}

void MetalDevice::launch(runtime::Queue& queue, runtime::Executable& executable,
                         const LaunchShape& shape, std::span<const Argument> arguments) {
  const auto& code = static_cast<const MetalExecutable&>(executable);
  if (code.has_plan && arguments.size() != code.plan.size()) {
    throw failure(
        Errc::invalid_argument, "launch",
        fmt::format("the kernel takes {} arguments, not {}", code.plan.size(), arguments.size()));
  }
  MetalQueue& to = queue_of(queue);
  const Id encoder = to.compute();
  to.use(code.pipeline.handle.get());
  encode_arguments(encoder, code, arguments);
  if (code.dynamic_shared || (!code.has_plan && shape.dynamic_shared_bytes > 0)) {
    // None is not allowed; a kernel that is given none must not touch it anyway.
    api_.set_threadgroup_bytes(
        encoder, rounded_up(std::max<std::size_t>(shape.dynamic_shared_bytes, 1), kThreadgroupUnit),
        0);
  }
  api_.dispatch(encoder, {shape.grid[0], shape.grid[1], shape.grid[2]},
                {shape.block[0], shape.block[1], shape.block[2]});
  to.encoded(code.kernel_name);
}

// Transfers.

bool MetalDevice::is_idle() const {
  return !has_streams_ && queue_->is_idle();
}

void MetalDevice::encode_copy(MetalQueue& queue, Id to, std::size_t to_offset, Id from,
                              std::size_t from_offset, std::size_t bytes) const {
  if ((to_offset | from_offset | bytes) % kBlitUnit == 0) {
    api_.copy(queue.blit(), from, from_offset, to, to_offset, bytes);
    return queue.encoded();
  }
  const Pipeline& kernel = facts_.byte_copy;
  const UInt threads = std::bit_floor(std::min(256u, kernel.max_threads));
  for (std::size_t at = 0; at < bytes; at += kMostCopied) {
    const auto count = static_cast<std::uint32_t>(std::min(bytes - at, kMostCopied));
    const Id encoder = queue.compute();
    queue.use(kernel.handle.get());
    api_.set_buffer(encoder, from, from_offset + at, 0);
    api_.set_buffer(encoder, to, to_offset + at, 1);
    api_.set_bytes(encoder, &count, sizeof(count), 2);
    api_.dispatch(encoder, {(count + threads - 1) / threads, 1, 1}, {threads, 1, 1});
    queue.encoded();
  }
}

void MetalDevice::write(runtime::Queue& queue, Buffer to, std::size_t offset, const void* source,
                        std::size_t bytes) {
  if (bytes == 0) return;
  if (facts_.unified_memory && is_idle()) {
    std::memcpy(static_cast<std::byte*>(api_.contents(handle_of(to))) + offset, source, bytes);
    return;
  }
  // The bytes wait in a buffer of their own, which the command buffer keeps.
  const Owned staged = own(api_, api_.new_buffer_with(facts_.handle.get(), source, bytes, kShared));
  if (!staged) {
    throw failure(Errc::out_of_memory, "newBufferWithBytes:length:options:",
                  fmt::format("no buffer of {} bytes could be made", bytes));
  }
  encode_copy(queue_of(queue), handle_of(to), offset, staged.get(), 0, bytes);
}

void MetalDevice::read(runtime::Queue& queue, void* target, Buffer from, std::size_t offset,
                       std::size_t bytes) {
  if (bytes == 0) return;
  MetalQueue& through = queue_of(queue);
  if (facts_.unified_memory) {
    through.finish();
    std::memcpy(target, static_cast<const std::byte*>(api_.contents(handle_of(from))) + offset,
                bytes);
    return;
  }
  // What a blit can copy, around what was asked for.
  const std::size_t first = offset / kBlitUnit * kBlitUnit;
  const std::size_t size = rounded_up(offset + bytes, kBlitUnit) - first;
  const Owned staged = new_buffer(size, kShared);
  encode_copy(through, staged.get(), 0, handle_of(from), first, size);
  through.finish();
  std::memcpy(target, static_cast<const std::byte*>(api_.contents(staged.get())) + (offset - first),
              bytes);
}

void MetalDevice::copy(runtime::Queue& queue, Buffer to, std::size_t to_offset, Buffer from,
                       std::size_t from_offset, std::size_t bytes) {
  if (bytes == 0) return;
  encode_copy(queue_of(queue), handle_of(to), to_offset, handle_of(from), from_offset, bytes);
}

void MetalDevice::write_async(runtime::Queue& queue, Buffer to, std::size_t offset,
                              const HostBlock& from, std::size_t from_offset, std::size_t bytes) {
  if (bytes == 0) return;
  encode_copy(queue_of(queue), handle_of(to), offset, handle_of(from), from_offset, bytes);
}

void MetalDevice::read_async(runtime::Queue& queue, const HostBlock& to, std::size_t to_offset,
                             Buffer from, std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  encode_copy(queue_of(queue), handle_of(to), to_offset, handle_of(from), offset, bytes);
}

// Order.

void MetalDevice::submit(runtime::Queue& queue) {
  queue_of(queue).commit();
}

void MetalDevice::finish(runtime::Queue& queue) {
  queue_of(queue).finish();
}

Owned MetalDevice::new_queue() const {
  Owned made = own(api_, api_.new_queue(facts_.handle.get()));
  if (!made) throw failure(Errc::out_of_memory, "newCommandQueue", "no queue could be made");
  return made;
}

std::unique_ptr<runtime::Queue> MetalDevice::make_queue(int) {
  // Queues of Metal have no priorities.
  has_streams_ = true;
  return std::make_unique<MetalQueue>(api_, new_queue());
}

std::unique_ptr<runtime::Event> MetalDevice::make_event() {
  Owned made = own(api_, api_.new_event(facts_.handle.get()));
  if (!made) throw failure(Errc::out_of_memory, "newEvent", "no event could be made");
  return std::make_unique<MetalEvent>(std::move(made));
}

void MetalDevice::record(runtime::Queue& queue, runtime::Event& event) {
  queue_of(queue).signal(event_of(event));
}

void MetalDevice::wait(runtime::Queue& queue, runtime::Event& event) {
  if (event_of(event).value != 0) queue_of(queue).wait_for(event_of(event));
}

void MetalDevice::wait(runtime::Event& event) {
  if (const auto batch = event_of(event).batch) wait_for(api_, *batch);
}

bool MetalDevice::reached(runtime::Event& event) {
  const auto batch = event_of(event).batch;
  return !batch || is_done(api_, *batch);
}

double MetalDevice::elapsed_ms(runtime::Event& first, runtime::Event& second) {
  const auto moment = [&](runtime::Event& event) {
    const auto batch = event_of(event).batch;
    if (!batch) throw failure(Errc::invalid_argument, "GPUEndTime", "the event was not recorded");
    wait_for(api_, *batch);
    return api_.gpu_end_time(batch->commands.get());
  };
  const double from = moment(first);
  return (moment(second) - from) * 1e3;
}

}  // namespace salvo::backends::metal
