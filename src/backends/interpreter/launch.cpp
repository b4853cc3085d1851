// Runs all blocks of a launch, one after another or on several threads of the host.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <vector>

namespace salvo::backends::interpreter {
namespace {

using Uses = std::map<Allocation*, MemoryUse>;

Error launch_error(const Code& code, Errc errc, std::string message) {
  Error::Details details;
  details.code = errc;
  details.message = std::move(message);
  details.backend = "Interpreter";
  details.operation = "launch";
  details.kernel = code.kernel().name;
  return Error(std::move(details));
}

std::uint64_t blocks_of(const runtime::LaunchShape& shape) {
  return std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
}

void check_shape(const Code& code, const runtime::LaunchShape& shape, const Options& options) {
  const runtime::Dim3& block = shape.block;
  const auto threads = static_cast<double>(block[0]) * block[1] * block[2];
  if (threads < 1 || threads > kMaxThreadsPerBlock) {
    throw launch_error(code, Errc::launch_failed,
                       fmt::format("a block of {}x{}x{} threads; 1 to {} are possible", block[0],
                                   block[1], block[2], kMaxThreadsPerBlock));
  }
  const std::uint64_t shared = code.shared_bytes() + shape.dynamic_shared_bytes;
  if (shared > kMaxSharedBytes) {
    throw launch_error(
        code, Errc::launch_failed,
        fmt::format("{} bytes of shared memory a block; {} are possible", shared, kMaxSharedBytes));
  }
  if (options.warp_size < 1 || options.warp_size > kMaxWarpSize ||
      !std::has_single_bit(options.warp_size)) {
    throw launch_error(code, Errc::invalid_argument,
                       fmt::format("a warp of {} threads; powers of two up to {} are possible",
                                   options.warp_size, kMaxWarpSize));
  }
}

void check_arguments(const Code& code, std::span<const BoundArgument> arguments) {
  if (arguments.size() != code.argument_count()) {
    throw launch_error(code, Errc::launch_failed,
                       fmt::format("{} arguments for a kernel that takes {}", arguments.size(),
                                   code.argument_count()));
  }
  const ir::Kernel& kernel = code.kernel();
  for (std::uint32_t p = 0; p < kernel.parameters.size(); ++p) {
    const ir::Parameter& parameter = kernel.parameters[p];
    if (!parameter.is_span) continue;
    const std::uint64_t size = kernel.memories[parameter.memory].element.size;
    for (std::uint32_t slot = 0; slot < parameter.slots; ++slot) {
      const BoundArgument& argument = arguments[code.first_argument(p) + slot];
      const std::uint64_t bytes = argument.allocation ? argument.allocation->bytes() : 0;
      if (argument.offset > bytes || argument.length > (bytes - argument.offset) / size) {
        throw launch_error(
            code, Errc::launch_failed,
            fmt::format("{}: {} elements of {} bytes from byte {} on, in a buffer of {} bytes",
                        parameter.name, argument.length, size, argument.offset, bytes));
      }
    }
  }
}

/// What the launch can do to each allocation, whichever parameters it is bound to.
Uses uses_of(const Code& code, std::span<const BoundArgument> arguments) {
  Uses uses;
  const ir::Kernel& kernel = code.kernel();
  for (std::uint32_t p = 0; p < kernel.parameters.size(); ++p) {
    const ir::Parameter& parameter = kernel.parameters[p];
    if (!parameter.is_span) continue;
    for (std::uint32_t slot = 0; slot < parameter.slots; ++slot) {
      const BoundArgument& argument = arguments[code.first_argument(p) + slot];
      if (argument.allocation == nullptr) continue;
      MemoryUse use = code.use(parameter.memory);
      use.alignment |= argument.offset;
      uses[argument.allocation] |= use;
    }
  }
  return uses;
}

void run_in_order(const LaunchState& state, std::uint64_t& moment) {
  Machine machine(state, 0);
  const std::uint64_t blocks = blocks_of(state.shape);
  try {
    for (std::uint64_t block = 0; block < blocks; ++block) machine.run_block(block);
  } catch (...) {
    moment = machine.next_moment();
    throw;
  }
  moment = machine.next_moment();
}

/// Hands out blocks to several machines, in order, until all are done or one is at fault.
class Crew {
 public:
  explicit Crew(const LaunchState& state) : state_(state), blocks_(blocks_of(state.shape)) {}

  /// Returns the fault of the lowest block that was found to have one.
  std::exception_ptr run(std::uint32_t workers, std::uint64_t& moment) {
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t worker = 1; worker < workers; ++worker) {
        threads.emplace_back([this, worker] { work(worker); });
      }
      work(0);
    }
    moment = moment_;
    return fault_;
  }

 private:
  void work(std::uint32_t worker) noexcept {
    std::optional<Machine> machine;
    std::exception_ptr fault;
    std::uint64_t block = 0;
    try {
      machine.emplace(state_, worker);
      while ((block = next_++) < blocks_) machine->run_block(block);
    } catch (...) {
      fault = std::current_exception();
      next_ = blocks_;
    }
    const std::scoped_lock lock(mutex_);
    if (machine) moment_ = std::max(moment_, machine->next_moment());
    if (fault != nullptr && block < fault_block_) {
      fault_block_ = block;
      fault_ = fault;
    }
  }

  const LaunchState& state_;
  const std::uint64_t blocks_;
  std::atomic<std::uint64_t> next_ = 0;
  std::mutex mutex_;
  std::uint64_t moment_ = 0;
  std::uint64_t fault_block_ = std::numeric_limits<std::uint64_t>::max();
  std::exception_ptr fault_;
};

void run_together(LaunchState state, std::uint32_t workers, const Uses& uses,
                  std::uint64_t& moment) {
  std::vector<std::pair<Allocation*, Allocation::Snapshot>> before;
  for (const auto& [allocation, use] : uses) {
    if (use.writes || use.atomics) before.emplace_back(allocation, allocation->save());
  }
  Stripes stripes;
  state.stripes = &stripes;
  const std::exception_ptr fault = Crew(state).run(workers, moment);
  if (fault == nullptr) return;

  for (const auto& [allocation, snapshot] : before) allocation->restore(snapshot);
  state.launch_from = moment;
  state.stripes = nullptr;
  run_in_order(state, moment);
  // A fault that depends on the order of blocks need not show in this one; it is one all the same.
  std::rethrow_exception(fault);
}

std::uint32_t worker_count(const LaunchState& state) {
  constexpr std::uint32_t kMost = 1u << Accessor::kWorkerBits;
  std::uint32_t wanted = state.options.workers;
  if (wanted == 0) wanted = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>({wanted, kMost, blocks_of(state.shape)}));
}

/// Memory that arguments share is one allocation, so that races between them are seen.
std::vector<std::unique_ptr<Allocation>> allocations_of(std::span<const HostArgument> arguments) {
  std::vector<const HostArgument*> spans;
  for (const HostArgument& argument : arguments) {
    if (argument.bytes != 0) spans.push_back(&argument);
  }
  const auto begin_of = [](const HostArgument* span) {
    return static_cast<std::byte*>(span->data);
  };
  std::sort(spans.begin(), spans.end(), [&](const HostArgument* a, const HostArgument* b) {
    return std::less<>()(begin_of(a), begin_of(b));
  });
  std::vector<std::unique_ptr<Allocation>> allocations;
  for (std::size_t i = 0; i < spans.size();) {
    std::byte* const begin = begin_of(spans[i]);
    std::byte* end = begin;
    std::size_t next = i;
    while (next < spans.size() && (next == i || begin_of(spans[next]) < end)) {
      end = std::max(end, begin_of(spans[next]) + spans[next]->bytes);
      ++next;
    }
    auto& allocation = allocations.emplace_back(
        std::make_unique<Allocation>(begin, static_cast<std::size_t>(end - begin)));
    for (; i < next; ++i) {
      if (spans[i]->written) continue;
      allocation->mark_unwritten(static_cast<std::size_t>(begin_of(spans[i]) - begin),
                                 spans[i]->bytes);
    }
  }
  return allocations;
}

/// What native code stores is not seen: what it is given counts as written.
void mark_native_spans(const Code& code, std::span<const BoundArgument> arguments) {
  const ir::Kernel& kernel = code.kernel();
  for (const ir::UserCall& call : kernel.user_calls) {
    for (const ir::MemoryId id : call.arguments) {
      if (id == ir::kNone) continue;
      const ir::Memory& memory = kernel.memories[id];
      const BoundArgument& bound = arguments[code.first_argument(memory.parameter)];
      if (!bound.allocation) continue;
      bound.allocation->mark_written(bound.offset, bound.length * memory.element.size);
    }
  }
}

}  // namespace

void launch(const Code& code, const runtime::LaunchShape& shape,
            std::span<const BoundArgument> arguments, const Options& options,
            std::uint64_t& moment) {
  check_shape(code, shape, options);
  check_arguments(code, arguments);
  if (blocks_of(shape) == 0) return;
  const Uses uses = uses_of(code, arguments);
  const LaunchState state{code, shape, arguments, options, moment, nullptr};
  try {
    for (const auto& [allocation, use] : uses) {
      allocation->settle();
      allocation->races().prepare(allocation->bytes(), use);
    }
    mark_native_spans(code, arguments);
    if (const std::uint32_t workers = worker_count(state); workers > 1) {
      run_together(state, workers, uses, moment);
    } else {
      run_in_order(state, moment);
    }
  } catch (const std::bad_alloc&) {
    throw launch_error(code, Errc::out_of_memory, "no memory of the host for the launch");
  }
}

void run(const ir::Kernel& kernel, const runtime::LaunchShape& shape,
         std::span<const HostArgument> arguments, const Options& options) {
  const Code code(kernel);
  const auto allocations = allocations_of(arguments);
  std::vector<BoundArgument> bound;
  for (const HostArgument& argument : arguments) {
    BoundArgument& target = bound.emplace_back();
    target.length = argument.length;
    target.bits = argument.bits;
    for (const auto& allocation : allocations) {
      const auto* data = static_cast<std::byte*>(argument.data);
      if (argument.bytes == 0 || data < allocation->data() ||
          data >= allocation->data() + allocation->bytes()) {
        continue;
      }
      target.allocation = allocation.get();
      target.offset = static_cast<std::uint64_t>(data - allocation->data());
    }
  }
  std::uint64_t moment = 1;
  launch(code, shape, bound, options, moment);
}

}  // namespace salvo::backends::interpreter
