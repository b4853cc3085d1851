// Runs a compiled kernel on the host: every thread of a block is a fiber where they must meet.
// SPDX-License-Identifier: MIT
//
// Blocks run one after another and the threads of one in turn, every second time from the last to
// the first: what a kernel or a backend forgets to order comes out wrong.
#include "drivers/metal/machine.hpp"

#include <ucontext.h>
#if defined(__x86_64__)
#  include <xmmintrin.h>
#endif

#include <cstdlib>
#include <cstring>
#include <memory>

namespace salvo::test::metal {
namespace {

constexpr std::size_t kStackBytes = 128 << 10;

/// Takes denormal numbers for zero, and makes none, while it lives.
class Flushing {
 public:
  explicit Flushing(bool on) {
#if defined(__x86_64__)
    before_ = _mm_getcsr();
    if (on) _mm_setcsr(before_ | 0x8040);
#else
    (void)on;
#endif
  }
  ~Flushing() {
#if defined(__x86_64__)
    _mm_setcsr(before_);
#endif
  }
  Flushing(const Flushing&) = delete;
  Flushing& operator=(const Flushing&) = delete;

 private:
  unsigned before_ = 0;
};

enum class Where : std::uint8_t { ready, barrier, warp, done };

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack;
  Where where = Where::ready;
  Thread thread{};
  std::uint64_t offered = 0;  // to its warp
};

class Machine {
 public:
  std::string run(const Dispatch& dispatch);

  void barrier() { stop(Where::barrier); }
  std::uint32_t shuffle(std::uint32_t value, std::uint32_t lane) {
    const std::uint32_t warp = fibers_[current_].thread.index / kWarpSize;
    offer(value);
    // A lane that is not there holds nothing in particular.
    return lane < kWarpSize && (present_[warp] >> lane & 1) != 0
               ? static_cast<std::uint32_t>(taken_[warp * kWarpSize + lane])
               : 0xdeadbeef;
  }
  unsigned long ballot(bool value) {
    const std::uint32_t warp = fibers_[current_].thread.index / kWarpSize;
    offer(value ? 1 : 0);
    unsigned long lanes = 0;
    for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
      if ((present_[warp] >> lane & 1) != 0 && taken_[warp * kWarpSize + lane] != 0) {
        lanes |= 1ul << lane;
      }
    }
    return lanes;
  }

 private:
  static void start();
  void stop(Where where) {
    Fiber& fiber = fibers_[current_];
    fiber.where = where;
    swapcontext(&fiber.context, &scheduler_);
  }
  void offer(std::uint64_t value) {
    fibers_[current_].offered = value;
    stop(Where::warp);
  }

  Thread thread(const Dispatch& dispatch, const Three& block, std::size_t index) const;
  bool run_block(const Dispatch& dispatch, const Three& block);
  void prepare(std::size_t threads);
  bool release_barrier();
  bool release_warps();

  const Dispatch* dispatch_ = nullptr;
  std::vector<std::byte> shared_;
  std::vector<Fiber> fibers_;
  std::size_t threads_ = 0;
  std::size_t current_ = 0;
  ucontext_t scheduler_{};
  std::vector<std::uint64_t> taken_;    // what the lanes offered, a place a thread
  std::vector<std::uint64_t> present_;  // lanes that took part, a word a warp
  bool backwards_ = false;
};

Machine& machine() {
  static Machine& instance = *new Machine;
  return instance;
}

void Machine::start() {
  Machine& self = machine();
  const Dispatch& dispatch = *self.dispatch_;
  dispatch.entry(dispatch.buffers.data(), self.shared_.data(), &self.fibers_[self.current_].thread);
  self.stop(Where::done);
}

void Machine::prepare(std::size_t threads) {
  threads_ = threads;
  if (fibers_.size() < threads) fibers_.resize(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    if (!fibers_[i].stack) fibers_[i].stack = std::make_unique<std::byte[]>(kStackBytes);
  }
  taken_.assign(threads + kWarpSize, 0);
  present_.assign(threads / kWarpSize + 1, 0);
}

Thread Machine::thread(const Dispatch& dispatch, const Three& block, std::size_t index) const {
  const auto position = [](const Three& three) {
    return Position3{static_cast<std::uint32_t>(three[0]), static_cast<std::uint32_t>(three[1]),
                     static_cast<std::uint32_t>(three[2])};
  };
  const Three& threads = dispatch.threads;
  return {position({index % threads[0], index / threads[0] % threads[1],
                    index / (threads[0] * threads[1])}),
          position(block),
          position(threads),
          position(dispatch.blocks),
          static_cast<std::uint32_t>(index),
          static_cast<std::uint32_t>(index % kWarpSize),
          kWarpSize};
}

bool Machine::release_barrier() {
  std::size_t waiting = 0;
  std::size_t left = 0;
  for (std::size_t i = 0; i < threads_; ++i) {
    left += fibers_[i].where != Where::done;
    waiting += fibers_[i].where == Where::barrier;
  }
  if (waiting == 0 || waiting != left) return false;
  for (std::size_t i = 0; i < threads_; ++i) {
    if (fibers_[i].where == Where::barrier) fibers_[i].where = Where::ready;
  }
  return true;
}

bool Machine::release_warps() {
  bool released = false;
  for (std::size_t first = 0; first < threads_; first += kWarpSize) {
    const std::size_t end = std::min<std::size_t>(first + kWarpSize, threads_);
    std::uint64_t present = 0;
    bool all = true;
    for (std::size_t i = first; i < end; ++i) {
      all &= fibers_[i].where == Where::warp || fibers_[i].where == Where::done;
      if (fibers_[i].where == Where::warp) present |= std::uint64_t{1} << (i - first);
    }
    if (!all || present == 0) continue;
    present_[first / kWarpSize] = present;
    for (std::size_t i = first; i < end; ++i) {
      taken_[i] = fibers_[i].offered;
      if (fibers_[i].where == Where::warp) fibers_[i].where = Where::ready;
    }
    released = true;
  }
  return released;
}

bool Machine::run_block(const Dispatch& dispatch, const Three& block) {
  for (std::size_t i = 0; i < threads_; ++i) {
    Fiber& fiber = fibers_[i];
    fiber.where = Where::ready;
    fiber.thread = thread(dispatch, block, i);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber.context, start, 0);
  }
  for (;;) {
    backwards_ = !backwards_;
    for (std::size_t i = 0; i < threads_; ++i) {
      current_ = backwards_ ? threads_ - 1 - i : i;
      if (fibers_[current_].where == Where::ready) {
        swapcontext(&scheduler_, &fibers_[current_].context);
      }
    }
    if (release_warps() || release_barrier()) continue;
    for (std::size_t i = 0; i < threads_; ++i) {
      if (fibers_[i].where != Where::done) return false;
    }
    return true;
  }
}

std::string Machine::run(const Dispatch& dispatch) {
  dispatch_ = &dispatch;
  const Three& blocks = dispatch.blocks;
  const std::size_t threads = dispatch.threads[0] * dispatch.threads[1] * dispatch.threads[2];
  const std::size_t count = blocks[0] * blocks[1] * blocks[2];
  shared_.assign(dispatch.shared_bytes + 16, std::byte{0xcd});
  *dispatch.hooks = {
      [] { machine().barrier(); },
      [](std::uint32_t value, std::uint32_t lane) { return machine().shuffle(value, lane); },
      [](bool value) { return machine().ballot(value); }};
  if (dispatch.threads_meet) prepare(threads);
  const Flushing flushing(dispatch.flushes);
  const bool from_the_end = backwards_ = !backwards_;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = from_the_end ? count - 1 - k : k;
    const Three block{i % blocks[0], i / blocks[0] % blocks[1], i / (blocks[0] * blocks[1])};
    if (dispatch.threads_meet) {
      if (!run_block(dispatch, block)) return "threads of a block wait at different places";
      continue;
    }
    for (std::size_t t = 0; t < threads; ++t) {
      const Thread at = thread(dispatch, block, from_the_end ? threads - 1 - t : t);
      dispatch.entry(dispatch.buffers.data(), shared_.data(), &at);
    }
  }
  return {};
}

}  // namespace

std::string run(const Dispatch& dispatch) {
  return machine().run(dispatch);
}

}  // namespace salvo::test::metal
