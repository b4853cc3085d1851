// The host's cores as one device.
// SPDX-License-Identifier: MIT
#include "backends/native/native_device.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/native/native_error.hpp"
#include "codegen/features.hpp"
#include "ir/verify.hpp"

namespace salvo::backends::native {

using codegen::llvm::LaunchArgument;
using codegen::llvm::LaunchFault;
using codegen::llvm::LaunchRecord;
using runtime::Argument;
using runtime::Buffer;
using runtime::HostBlock;
using runtime::LaunchShape;

namespace {

/// Operations below which a launch stays on the calling thread: waking the others takes as long as
/// a core needs for about so many.
constexpr std::uint64_t kWorthSharing = 300'000;
constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector

std::size_t round_up(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

std::byte* bytes_of(Buffer buffer) {
  return reinterpret_cast<std::byte*>(buffer.handle);  // NOLINT(performance-no-int-to-ptr)
}

std::byte* checked(Buffer buffer, std::size_t offset, std::size_t bytes, const char* operation) {
  if (offset > buffer.bytes || bytes > buffer.bytes - offset) {
    fail(Errc::transfer_failed, operation,
         fmt::format("{} bytes from byte {} on, of a buffer of {} bytes", bytes, offset,
                     buffer.bytes));
  }
  return bytes_of(buffer) + offset;
}

/// Memory that a device buffer and a vector share needs no copy.
void move_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (to != from) std::memmove(to, from, bytes);
}

class Moment final : public runtime::Event {
 public:
  std::chrono::steady_clock::time_point at{};
};

codegen::llvm::EmitOptions emit_options(const Api& api, const Processor& processor,
                                        const Settings& settings) {
  codegen::llvm::EmitOptions options;
  options.lanes = processor.lanes;
  options.typed_pointers = api.version < 15;
  options.fma = processor.fma;
  options.half = processor.half;
  options.bounds_checks = settings.bounds_checks;
  options.line_tables = settings.symbols;
  return options;
}

}  // namespace

void NativeDevice::Free::operator()(std::byte* memory) const noexcept {
  std::free(memory);
}

NativeDevice::NativeDevice(const Api& api, const Settings& settings)
    : api_(api),
      settings_(settings),
      compiler_(api, host_processor(api, settings.features)),
      emit_(emit_options(api, compiler_.processor(), settings)),
      properties_(device_properties(api, compiler_.processor(), scheduler_)) {}

// Memory.

Buffer NativeDevice::allocate(std::size_t bytes) {
  // The host would promise more than it has, and end the process when it is used.
  if (properties_.memory_bytes != 0 && bytes > properties_.max_allocation_bytes) {
    fail(Errc::out_of_memory, "allocate",
         fmt::format("{} bytes, of {} that the host has", bytes, properties_.memory_bytes));
  }
  void* memory = std::aligned_alloc(kAlignment, round_up(bytes));
  if (memory == nullptr) {
    fail(Errc::out_of_memory, "allocate", fmt::format("the host has no {} bytes left", bytes));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return {.handle = address, .bytes = bytes, .address = address};
}

void NativeDevice::release(Buffer buffer) noexcept {
  std::free(bytes_of(buffer));
}

// Code.

runtime::Program NativeDevice::translate(const ir::Kernel& kernel,
                                         const runtime::TranslateOptions&) const {
  codegen::require(kernel, properties_, kName);
  try {
    auto [entry, code] = codegen::llvm::emit(codegen::llvm::lower(kernel, emit_), emit_);
    return {std::move(entry), std::move(code), {}, kernel.name};
  } catch (const Error& failure) {
    Error::Details details = failure.details();
    details.backend = kName;
    details.operation = "translate";
    details.kernel = kernel.name;
    throw Error(std::move(details));
  }
}

std::unique_ptr<runtime::Executable> NativeDevice::build(const ir::Kernel& kernel,
                                                         const runtime::Program& program,
                                                         std::span<const std::byte> cached) {
  if (const std::vector<std::string> faults = ir::verify(kernel); !faults.empty()) {
    throw Error(Error::Details{.code = Errc::invalid_kernel,
                               .message = faults.front(),
                               .backend = std::string(kName),
                               .operation = "build",
                               .kernel = kernel.name,
                               .log = fmt::format("{}", fmt::join(faults, "\n"))});
  }
  std::vector<std::byte> object(cached.begin(), cached.end());
  if (object.empty()) object = compiler_.compile(program.code);
  auto code = std::make_unique<Code>(api_, object, settings_.symbols);
  auto lowered = settings_.bounds_checks
                     ? std::make_unique<const ir::Kernel>(codegen::llvm::lower(kernel, emit_))
                     : nullptr;
  return std::make_unique<NativeExecutable>(kernel, std::move(lowered), std::move(code),
                                            program.entry, std::move(object));
}

std::unique_ptr<runtime::Executable> NativeDevice::build_source(const runtime::UserSource& source) {
  fail(Errc::unsupported, "run_source",
       fmt::format("Native runs traced kernels; it compiles no {}", source.language));
}

std::string NativeDevice::build_identity() const {
  const Processor& processor = compiler_.processor();
  return fmt::format("{} {} {} {}", api_.build, processor.triple, processor.name,
                     processor.features);
}

std::uint32_t NativeDevice::preferred_block(const runtime::Executable*) const {
  // Enough vectors to hide a block's own cost, few enough not to be idle in a small launch.
  return 256;
}

runtime::ParameterCost NativeDevice::parameter_cost(const ir::Kernel&) const {
  return {};
}

// Launches.

void NativeDevice::fill_record(const NativeExecutable& code, const LaunchShape& shape,
                               std::span<const Argument> arguments, LaunchFault* fault) {
  constexpr std::size_t kHeader = LaunchRecord::kArguments / sizeof(LaunchArgument);
  record_.resize(std::max(record_.size(), kHeader + arguments.size()));
  LaunchRecord header;
  std::copy(shape.grid.begin(), shape.grid.end(), header.grid);
  std::copy(shape.block.begin(), shape.block.end(), header.block);
  header.dynamic_shared_bytes = shape.dynamic_shared_bytes;
  header.fault = fault;
  std::memcpy(static_cast<void*>(record_.data()), &header, sizeof(header));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    record_[kHeader + i] = {
        code.spans()[i] ? argument.buffer.handle + argument.byte_offset : argument.bits,
        argument.length};
  }
}

void NativeDevice::run_blocks(const NativeExecutable& code, const LaunchShape& shape) {
  const std::uint64_t blocks = std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  const std::uint64_t rows = std::uint64_t{shape.block[1]} * shape.block[2];
  const std::uint64_t vectors = rows * ((shape.block[0] + emit_.lanes - 1) / emit_.lanes);
  const std::uint64_t work = code.facts().work * vectors * emit_.lanes;
  const bool shared = scheduler_.threads() > 1 && blocks > 1 && work * blocks >= kWorthSharing;

  const std::size_t each = code.facts().scratch_bytes * vectors;
  const std::size_t needed = each * (shared ? scheduler_.threads() : 1);
  if (needed > scratch_bytes_) {
    scratch_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, round_up(needed))));
    scratch_bytes_ = scratch_ ? needed : 0;
    if (!scratch_) fail(Errc::out_of_memory, "launch", "no memory of the host for the launch");
  }
  const auto* record = reinterpret_cast<const LaunchRecord*>(record_.data());
  std::byte* const scratch = scratch_.get();
  if (!shared) return code.entry()(record, 0, blocks, scratch);
  scheduler_.run(blocks, [&](unsigned worker, std::uint64_t first, std::uint64_t last) {
    code.entry()(record, first, last, scratch + worker * each);
  });
}

void NativeDevice::launch(runtime::Queue&, runtime::Executable& executable,
                          const LaunchShape& shape, std::span<const Argument> arguments) {
  const auto& code = static_cast<NativeExecutable&>(executable);
  code.check(shape, arguments.size(), emit_.lanes);
  LaunchFault fault;
  fill_record(code, shape, arguments, &fault);
  run_blocks(code, shape);
  if (fault.taken != 0) code.throw_fault(fault);
}

// Transfers.

void NativeDevice::write(runtime::Queue&, Buffer to, std::size_t offset, const void* source,
                         std::size_t bytes) {
  if (bytes == 0) return;
  move_bytes(checked(to, offset, bytes, "write"), static_cast<const std::byte*>(source), bytes);
}

void NativeDevice::read(runtime::Queue&, void* target, Buffer from, std::size_t offset,
                        std::size_t bytes) {
  if (bytes == 0) return;
  move_bytes(static_cast<std::byte*>(target), checked(from, offset, bytes, "read"), bytes);
}

void NativeDevice::copy(runtime::Queue&, Buffer to, std::size_t to_offset, Buffer from,
                        std::size_t from_offset, std::size_t bytes) {
  if (bytes == 0) return;
  const std::byte* source = checked(from, from_offset, bytes, "copy");
  move_bytes(checked(to, to_offset, bytes, "copy"), source, bytes);
}

void NativeDevice::submit(runtime::Queue&) {}
void NativeDevice::finish(runtime::Queue&) {}

HostBlock NativeDevice::allocate_host(std::size_t bytes) {
  const Buffer buffer = allocate(bytes);
  return {bytes_of(buffer), bytes, buffer.handle};
}

void NativeDevice::release_host(HostBlock block) noexcept {
  std::free(block.data);
}

HostBlock NativeDevice::register_host(void* data, std::size_t bytes) {
  return {data, bytes, reinterpret_cast<std::uintptr_t>(data)};
}

void NativeDevice::unregister_host(HostBlock) noexcept {}

void NativeDevice::write_async(runtime::Queue& queue, Buffer to, std::size_t offset,
                               const HostBlock& from, std::size_t from_offset, std::size_t bytes) {
  write(queue, to, offset, static_cast<const std::byte*>(from.data) + from_offset, bytes);
}

void NativeDevice::read_async(runtime::Queue& queue, const HostBlock& to, std::size_t to_offset,
                              Buffer from, std::size_t offset, std::size_t bytes) {
  read(queue, static_cast<std::byte*>(to.data) + to_offset, from, offset, bytes);
}

Buffer NativeDevice::adopt(std::uint64_t address, std::size_t bytes) {
  if (address == 0) fail(Errc::invalid_argument, "adopt", "there is no memory at address 0");
  return {.handle = static_cast<std::uintptr_t>(address), .bytes = bytes, .address = address};
}

// Order.

std::unique_ptr<runtime::Queue> NativeDevice::make_queue(int) {
  return std::make_unique<HostQueue>();
}

std::unique_ptr<runtime::Event> NativeDevice::make_event() {
  return std::make_unique<Moment>();
}

void NativeDevice::record(runtime::Queue&, runtime::Event& event) {
  static_cast<Moment&>(event).at = std::chrono::steady_clock::now();
}

void NativeDevice::wait(runtime::Queue&, runtime::Event&) {}
void NativeDevice::wait(runtime::Event&) {}

bool NativeDevice::reached(runtime::Event&) {
  return true;
}

double NativeDevice::elapsed_ms(runtime::Event& first, runtime::Event& second) {
  const auto passed = static_cast<Moment&>(second).at - static_cast<Moment&>(first).at;
  return std::chrono::duration<double, std::milli>(passed).count();
}

}  // namespace salvo::backends::native
