// One device of a CUDA-shaped driver: context, memory, launches.
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_device.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "codegen/c_family/float_options.hpp"

namespace salvo::backends::cuda_family {
namespace {

using runtime::Buffer;
using runtime::HostBlock;

Stream stream_of(runtime::Queue& queue) {
  return static_cast<FamilyQueue&>(queue).get();
}
EventHandle handle_of(runtime::Event& event) {
  return static_cast<FamilyEvent&>(event).get();
}

}  // namespace

PrimaryContext::PrimaryContext(const Reporter& reporter, Ordinal ordinal)
    : reporter_(reporter), ordinal_(ordinal) {
  reporter_.check(reporter_.api().PrimaryRetain(&context_, ordinal_), "cuDevicePrimaryCtxRetain",
                  Errc::backend_unavailable);
}

PrimaryContext::~PrimaryContext() {
  reporter_.api().PrimaryRelease(ordinal_);
}

FamilyDevice::FamilyDevice(const Api& api, const DeviceFacts& facts, std::string_view backend)
    : reporter_(api, backend),
      facts_(facts),
      context_(reporter_, facts.ordinal),
      replay_(std::make_unique<Replay>(reporter_)) {
  const Current current(reporter_, context_.get());
  queue_ = std::make_unique<FamilyQueue>(reporter_, context_.get(), 0);
  if (!facts_.pools) return;
  memory_queue_ = std::make_unique<FamilyQueue>(reporter_, context_.get(), 0);
  PoolProperties properties;
  properties.location.id = facts_.ordinal;
  reporter_.check(api.PoolCreate(&pool_, &properties), "cuMemPoolCreate",
                  Errc::backend_unavailable);
  // What is freed stays with the pool: asking the system for memory stops the device.
  std::uint64_t keep = ~std::uint64_t{0};
  reporter_.check(api.PoolSet(pool_, kPoolReleaseThreshold, &keep), "cuMemPoolSetAttribute",
                  Errc::backend_unavailable);
}

FamilyDevice::~FamilyDevice() {
  const Current current(reporter_, context_.get());
  replay_.reset();
  if (pool_) reporter_.api().PoolDestroy(pool_);
}

// Memory.

Address FamilyDevice::allocate_pooled(std::size_t bytes) {
  const Api& api = reporter_.api();
  Address address = 0;
  Result status = api.PoolAlloc(&address, bytes, pool_, memory_queue_->get());
  if (status != kSuccess) {
    // The pool may hold the memory in pieces too small.
    reporter_.check(api.StreamSynchronize(memory_queue_->get()), "cuStreamSynchronize",
                    Errc::device_lost);
    reporter_.check(api.PoolTrim(pool_, 0), "cuMemPoolTrimTo", Errc::device_lost);
    status = api.PoolAlloc(&address, bytes, pool_, memory_queue_->get());
  }
  reporter_.check(status, "cuMemAllocFromPoolAsync", Errc::out_of_memory);
  // Other streams may use the memory from here on.
  reporter_.check(api.StreamSynchronize(memory_queue_->get()), "cuStreamSynchronize",
                  Errc::device_lost);
  return address;
}

Buffer FamilyDevice::allocate(std::size_t bytes) {
  const Current current(reporter_, context_.get());
  if (bytes > facts_.properties.memory_bytes) {
    reporter_.fail(Errc::out_of_memory, "cuMemAlloc",
                   fmt::format("{} bytes were asked for and {} has {}", bytes,
                               facts_.properties.name, facts_.properties.memory_bytes));
  }
  Address address = 0;
  if (pool_) {
    address = allocate_pooled(bytes);
  } else {
    reporter_.check(reporter_.api().MemAlloc(&address, bytes), "cuMemAlloc", Errc::out_of_memory);
  }
  return {static_cast<std::uintptr_t>(address), bytes, address};
}

void FamilyDevice::release(Buffer buffer) noexcept {
  if (!buffer) return;
  const Current current(reporter_, context_.get());
  if (pool_) {
    reporter_.api().PoolFree(buffer.address, memory_queue_->get());
  } else {
    reporter_.api().MemFree(buffer.address);
  }
}

// Code.

FamilyDevice::Image FamilyDevice::assemble(const std::string& ptx, const std::string& name) const {
  // Anything else the driver takes for a binary, and then says nothing of the text.
  if (ptx.find(".version") == std::string::npos) {
    throw Error(Error::Details{.code = Errc::compile_failed,
                               .message = "PTX names its .version, and this text does not",
                               .backend = std::string(reporter_.backend()),
                               .operation = "cuLinkAddData",
                               .log = ptx.substr(0, 200)});
  }
  const Current current(reporter_, context_.get());
  const Api& api = reporter_.api();
  std::array<char, 8192> log{};
  std::array options{static_cast<int>(JitOption::error_log),
                     static_cast<int>(JitOption::error_log_bytes),
                     static_cast<int>(JitOption::line_info)};
  std::array<void*, 3> values{log.data(), reinterpret_cast<void*>(log.size() - 1),
                              reinterpret_cast<void*>(std::uintptr_t{1})};
  Linker linker = nullptr;
  reporter_.check(
      api.LinkCreate(static_cast<unsigned>(options.size()), options.data(), values.data(), &linker),
      "cuLinkCreate", Errc::compile_failed);
  const auto destroy = [&](Linker handle) { api.LinkDestroy(handle); };
  const std::unique_ptr<CUlinkState_st, decltype(destroy)> owner(linker, destroy);

  std::string text = ptx;  // the driver's parameter is not const
  Result status = api.LinkAdd(linker, kLinkInputPtx, text.data(), text.size() + 1, name.c_str(), 0,
                              nullptr, nullptr);
  if (status != kSuccess) reporter_.fail(status, "cuLinkAddData", Errc::compile_failed, log.data());
  void* code = nullptr;
  std::size_t bytes = 0;
  status = api.LinkComplete(linker, &code, &bytes);
  if (status != kSuccess)
    reporter_.fail(status, "cuLinkComplete", Errc::compile_failed, log.data());
  const auto* first = static_cast<const std::byte*>(code);
  return Image(first, first + bytes);
}

std::unique_ptr<runtime::Executable> FamilyDevice::build(const ir::Kernel& kernel,
                                                         const runtime::Program& program,
                                                         std::span<const std::byte> cached) {
  auto executable = load(kernel, program,
                         cached.empty() ? compile(program) : Image(cached.begin(), cached.end()));
  if (executable->max_threads_per_block() < facts_.properties.max_threads_per_block) {
    executable->make_for_large_blocks = [this, kernel,
                                         program]() -> std::unique_ptr<FamilyExecutable> {
      runtime::Program bounded = program;
      if (!bound(bounded, facts_.properties.max_threads_per_block)) return nullptr;
      return load(kernel, bounded, compile(bounded));
    };
  }
  return executable;
}

std::unique_ptr<FamilyExecutable> FamilyDevice::load(const ir::Kernel& kernel,
                                                     const runtime::Program& program,
                                                     Image image) const {
  const Current current(reporter_, context_.get());
  auto executable = std::make_unique<FamilyExecutable>(reporter_, context_.get(), std::move(image));
  executable->find(program.entry, program.unaligned_entry, facts_);
  const ParameterBlock& block = executable->parameters.emplace(kernel, program.alignments);
  executable->block.resize(block.bytes());
  return executable;
}

FamilyExecutable& FamilyDevice::for_large_blocks(FamilyExecutable& code) const {
  if (code.make_for_large_blocks) {
    code.for_large_blocks = code.make_for_large_blocks();
    code.make_for_large_blocks = nullptr;
  }
  return code.for_large_blocks ? *code.for_large_blocks : code;
}

std::unique_ptr<runtime::Executable> FamilyDevice::build_source(const runtime::UserSource& source) {
  const bool is_ptx = source.language == "PTX" && reporter_.api().LinkCreate;
  if (source.language != language() && !is_ptx) {
    reporter_.fail(
        Errc::unsupported, "compile user source",
        fmt::format("{} compiles {}, not {}", reporter_.backend(), language(), source.language));
  }
  const std::string relaxing = codegen::c_family::relaxing_option(source.options);
  if (!relaxing.empty()) {
    reporter_.fail(Errc::invalid_argument, "compile user source",
                   fmt::format("the option {} relaxes floating point", relaxing));
  }
  const runtime::Program program{source.entry, source.code, source.options, source.entry};
  Image image = is_ptx ? assemble(source.code, source.entry) : compile(program);
  const Current current(reporter_, context_.get());
  auto executable = std::make_unique<FamilyExecutable>(reporter_, context_.get(), std::move(image));
  executable->find(source.entry, "", facts_);
  return executable;
}

std::uint32_t FamilyDevice::preferred_block(const runtime::Executable* executable) const {
  return executable ? static_cast<const FamilyExecutable*>(executable)->preferred_block() : 0;
}

runtime::ParameterCost FamilyDevice::parameter_cost(const ir::Kernel& kernel) const {
  return cuda_family::parameter_cost(kernel);
}

// Work.

void FamilyDevice::launch(runtime::Queue& queue, runtime::Executable& executable,
                          const runtime::LaunchShape& shape,
                          std::span<const runtime::Argument> arguments) {
  auto& usual = static_cast<FamilyExecutable&>(executable);
  const bool fits = std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2] <=
                    usual.max_threads_per_block();
  FamilyExecutable& code = fits ? usual : for_large_blocks(usual);
  if (!code.parameters) {
    std::vector<std::uint64_t> words;
    for (const runtime::Argument& argument : arguments) {
      words.push_back(argument.buffer ? argument.buffer.address + argument.byte_offset
                                      : argument.bits);
    }
    std::vector<void*> pointers;
    for (std::uint64_t& word : words) pointers.push_back(&word);
    return start(queue, code.kernel(), shape, pointers.data(), nullptr);
  }
  const auto filled = code.parameters->fill(arguments, code.block.data());
  if (filled == ParameterBlock::Filled::refused) {
    reporter_.fail(
        Errc::invalid_argument, "launch",
        fmt::format("the kernel takes {} arguments, not those", code.parameters->arguments()));
  }
  // What tells the driver that a block follows, not an array of pointers.
  void* const kPointer = reinterpret_cast<void*>(std::uintptr_t{1});
  void* const kSize = reinterpret_cast<void*>(std::uintptr_t{2});
  std::size_t bytes = code.block.size();
  std::array<void*, 5> block{kPointer, code.block.data(), kSize, &bytes, nullptr};
  start(queue, code.kernel(filled == ParameterBlock::Filled::aligned), shape, nullptr,
        block.data());
}

void FamilyDevice::start(runtime::Queue& queue, KernelHandle kernel,
                         const runtime::LaunchShape& shape, void** pointers, void** block) {
  const Current current(reporter_, context_.get());
  reporter_.check(
      reporter_.api().Launch(kernel, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
                             shape.block[1], shape.block[2], shape.dynamic_shared_bytes,
                             stream_of(queue), pointers, block),
      "cuLaunchKernel", Errc::launch_failed);
}

bool FamilyDevice::replay(runtime::Queue& queue, std::span<const runtime::LaunchCommand> commands) {
  const Current current(reporter_, context_.get());
  return replay_->launch(stream_of(queue), commands);
}

void FamilyDevice::write(runtime::Queue& queue, Buffer to, std::size_t offset, const void* source,
                         std::size_t bytes) {
  if (bytes == 0) return;
  const Current current(reporter_, context_.get());
  reporter_.check(
      reporter_.api().CopyToDevice(to.address + offset, source, bytes, stream_of(queue)),
      "cuMemcpyHtoDAsync", Errc::transfer_failed);
  // The driver has staged pageable bytes when it returns; pinned ones it still reads.
  if (pinned_blocks_.load(std::memory_order_relaxed) != 0) finish(queue);
}

void FamilyDevice::read(runtime::Queue& queue, void* target, Buffer from, std::size_t offset,
                        std::size_t bytes) {
  if (bytes == 0) return;
  const Current current(reporter_, context_.get());
  reporter_.check(
      reporter_.api().CopyToHost(target, from.address + offset, bytes, stream_of(queue)),
      "cuMemcpyDtoHAsync", Errc::transfer_failed);
  finish(queue);
}

void FamilyDevice::copy(runtime::Queue& queue, Buffer to, std::size_t to_offset, Buffer from,
                        std::size_t from_offset, std::size_t bytes) {
  if (bytes == 0) return;
  const Current current(reporter_, context_.get());
  reporter_.check(reporter_.api().CopyWithin(to.address + to_offset, from.address + from_offset,
                                             bytes, stream_of(queue)),
                  "cuMemcpyDtoDAsync", Errc::transfer_failed);
}

void FamilyDevice::reach(FamilyDevice& other) {
  {
    const std::lock_guard lock(reached_lock_);
    if (!reached_.insert(other.facts_.ordinal).second) return;
  }
  const Current current(reporter_, context_.get());
  const Api& api = reporter_.api();
  int reaches = 0;
  // Without a way between the devices the driver copies through the host.
  if (api.PeerReaches(&reaches, facts_.ordinal, other.facts_.ordinal) != kSuccess || !reaches) {
    return;
  }
  if (other.pool_) {
    PoolAccess access;
    access.location.id = facts_.ordinal;
    reporter_.check(api.PoolShare(other.pool_, &access, 1), "cuMemPoolSetAccess",
                    Errc::transfer_failed);
    return;
  }
  const Result status = api.PeerEnable(other.context_.get(), 0);
  if (status != kPeerAccessOn)
    reporter_.check(status, "cuCtxEnablePeerAccess", Errc::transfer_failed);
}

bool FamilyDevice::copy_from(runtime::Queue& queue, Buffer to, std::size_t to_offset,
                             runtime::DeviceDriver& source, runtime::Queue& source_queue,
                             Buffer from, std::size_t from_offset, std::size_t bytes) {
  auto* const other = dynamic_cast<FamilyDevice*>(&source);
  // Devices of another driver are of this class too.
  if (!other || &other->reporter_.api() != &reporter_.api()) return false;
  if (bytes == 0) return true;
  // Here after what was queued there; and there nothing of the source is reused before.
  FamilyEvent written(other->reporter_, other->context_.get());
  other->record(source_queue, written);
  wait(queue, written);
  const Current current(reporter_, context_.get());
  const Address first = to.address + to_offset;
  const Address source_first = from.address + from_offset;
  if (other->context_.get() == context_.get()) {
    reporter_.check(reporter_.api().CopyWithin(first, source_first, bytes, stream_of(queue)),
                    "cuMemcpyDtoDAsync", Errc::transfer_failed);
  } else {
    reach(*other);
    other->reach(*this);
    reporter_.check(reporter_.api().CopyPeer(first, context_.get(), source_first,
                                             other->context_.get(), bytes, stream_of(queue)),
                    "cuMemcpyPeerAsync", Errc::transfer_failed);
  }
  FamilyEvent taken(reporter_, context_.get());
  record(queue, taken);
  other->wait(source_queue, taken);
  return true;
}

Buffer FamilyDevice::adopt(std::uint64_t address, std::size_t bytes) {
  const Current current(reporter_, context_.get());
  const Api& api = reporter_.api();
  int ordinal = -1;
  Address start = 0;
  std::size_t size = 0;
  const auto ask = [&](PointerAttribute what, void* answer) {
    return api.PointerValue(answer, static_cast<int>(what), address) == kSuccess;
  };
  if (!ask(PointerAttribute::device_ordinal, &ordinal) || ordinal != facts_.ordinal ||
      !ask(PointerAttribute::range_start, &start) || !ask(PointerAttribute::range_bytes, &size)) {
    reporter_.fail(Errc::invalid_argument, "cuPointerGetAttribute",
                   fmt::format("0x{:x} is no memory of this device", address));
  }
  if (address - start > size || bytes > size - (address - start)) {
    reporter_.fail(Errc::invalid_argument, "cuPointerGetAttribute",
                   fmt::format("{} bytes from 0x{:x} pass the end of an allocation of {} from "
                               "0x{:x}",
                               bytes, address, size, start));
  }
  return {static_cast<std::uintptr_t>(address), bytes, address};
}

std::unique_ptr<runtime::Queue> FamilyDevice::adopt_queue(std::uintptr_t native) {
  return std::make_unique<FamilyQueue>(reporter_, context_.get(), reinterpret_cast<Stream>(native));
}

void FamilyDevice::submit(runtime::Queue&) {}  // the device starts on a launch when it is made

void FamilyDevice::finish(runtime::Queue& queue) {
  const Current current(reporter_, context_.get());
  reporter_.check(reporter_.api().StreamSynchronize(stream_of(queue)), "cuStreamSynchronize",
                  Errc::launch_failed);
}

// Streams and events.

std::unique_ptr<runtime::Queue> FamilyDevice::make_queue(int priority) {
  return std::make_unique<FamilyQueue>(reporter_, context_.get(), priority);
}

std::unique_ptr<runtime::Event> FamilyDevice::make_event() {
  return std::make_unique<FamilyEvent>(reporter_, context_.get());
}

void FamilyDevice::record(runtime::Queue& queue, runtime::Event& event) {
  const Current current(reporter_, context_.get());
  reporter_.check(reporter_.api().EventRecord(handle_of(event), stream_of(queue)), "cuEventRecord",
                  Errc::launch_failed);
}

void FamilyDevice::wait(runtime::Queue& queue, runtime::Event& event) {
  const Current current(reporter_, context_.get());
  reporter_.check(reporter_.api().StreamWait(stream_of(queue), handle_of(event), 0),
                  "cuStreamWaitEvent", Errc::launch_failed);
}

void FamilyDevice::wait(runtime::Event& event) {
  const Current current(reporter_, context_.get());
  reporter_.check(reporter_.api().EventSynchronize(handle_of(event)), "cuEventSynchronize",
                  Errc::launch_failed);
}

bool FamilyDevice::reached(runtime::Event& event) {
  const Current current(reporter_, context_.get());
  const Result status = reporter_.api().EventQuery(handle_of(event));
  if (status == kNotReady) return false;
  reporter_.check(status, "cuEventQuery", Errc::launch_failed);
  return true;
}

double FamilyDevice::elapsed_ms(runtime::Event& first, runtime::Event& second) {
  const Current current(reporter_, context_.get());
  wait(first);
  wait(second);
  float milliseconds = 0;
  reporter_.check(reporter_.api().EventElapsed(&milliseconds, handle_of(first), handle_of(second)),
                  "cuEventElapsedTime", Errc::launch_failed);
  return milliseconds;
}

// Host memory the device reaches.

HostBlock FamilyDevice::allocate_host(std::size_t bytes) {
  const Current current(reporter_, context_.get());
  HostBlock block{nullptr, bytes, 0};
  reporter_.check(reporter_.api().HostAlloc(&block.data, bytes, kHostPortable), "cuMemHostAlloc",
                  Errc::out_of_memory);
  ++pinned_blocks_;
  return block;
}

void FamilyDevice::release_host(HostBlock block) noexcept {
  if (!block.data) return;
  const Current current(reporter_, context_.get());
  reporter_.api().HostFree(block.data);
  --pinned_blocks_;
}

HostBlock FamilyDevice::register_host(void* data, std::size_t bytes) {
  const Current current(reporter_, context_.get());
  reporter_.check(reporter_.api().HostRegister(data, bytes, kHostPortable), "cuMemHostRegister",
                  Errc::out_of_memory);
  ++pinned_blocks_;
  return {data, bytes, 0};
}

void FamilyDevice::unregister_host(HostBlock block) noexcept {
  const Current current(reporter_, context_.get());
  reporter_.api().HostUnregister(block.data);
  --pinned_blocks_;
}

void FamilyDevice::write_async(runtime::Queue& queue, Buffer to, std::size_t offset,
                               const HostBlock& from, std::size_t from_offset, std::size_t bytes) {
  const Current current(reporter_, context_.get());
  reporter_.check(reporter_.api().CopyToDevice(
                      to.address + offset, static_cast<const std::byte*>(from.data) + from_offset,
                      bytes, stream_of(queue)),
                  "cuMemcpyHtoDAsync", Errc::transfer_failed);
}

void FamilyDevice::read_async(runtime::Queue& queue, const HostBlock& to, std::size_t to_offset,
                              Buffer from, std::size_t offset, std::size_t bytes) {
  const Current current(reporter_, context_.get());
  reporter_.check(reporter_.api().CopyToHost(static_cast<std::byte*>(to.data) + to_offset,
                                             from.address + offset, bytes, stream_of(queue)),
                  "cuMemcpyDtoHAsync", Errc::transfer_failed);
}

}  // namespace salvo::backends::cuda_family
