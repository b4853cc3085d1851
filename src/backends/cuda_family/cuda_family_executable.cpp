// A kernel loaded into a context of the family: its functions, limits and parameter block.
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_executable.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <string_view>
#include <utility>

#include "runtime/scratch_budget.hpp"

namespace salvo::backends::cuda_family {
namespace {

std::uint64_t next_serial() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

FamilyExecutable::FamilyExecutable(const Reporter& reporter, Context context,
                                   std::vector<std::byte> image)
    : serial(next_serial()), reporter_(reporter), context_(context), image_(std::move(image)) {
  // Anything but an ELF file the driver would read as PTX text, to its terminating zero.
  constexpr std::string_view kMagic =
      "\x7f"
      "ELF";
  const auto* text = reinterpret_cast<const char*>(image_.data());
  if (!std::string_view(text, image_.size()).starts_with(kMagic)) {
    reporter_.fail(Errc::compile_failed, "cuModuleLoadDataEx", "this is no machine code");
  }
  reporter_.check(reporter_.api().ModuleLoad(&module_, image_.data(), 0, nullptr, nullptr),
                  "cuModuleLoadDataEx", Errc::compile_failed);
}

FamilyExecutable::~FamilyExecutable() {
  const Current current(reporter_, context_);
  reporter_.api().ModuleUnload(module_);
}

KernelHandle FamilyExecutable::find(const std::string& entry) const {
  KernelHandle found = nullptr;
  reporter_.check(reporter_.api().ModuleKernel(&found, module_, entry.c_str()),
                  "cuModuleGetFunction", Errc::compile_failed);
  return found;
}

std::uint32_t FamilyExecutable::value(KernelAttribute what, KernelHandle kernel) const {
  int result = 0;
  reporter_.check(reporter_.api().KernelValue(&result, static_cast<int>(what), kernel),
                  "cuFuncGetAttribute", Errc::compile_failed);
  return static_cast<std::uint32_t>(result);
}

void FamilyExecutable::allow_shared(KernelHandle kernel, const DeviceFacts& device) const {
  const std::uint32_t fixed = value(KernelAttribute::static_shared_bytes, kernel);
  if (device.largest_shared_bytes <= fixed) return;
  reporter_.check(
      reporter_.api().KernelSet(kernel, static_cast<int>(KernelAttribute::max_dynamic_shared_bytes),
                                static_cast<int>(device.largest_shared_bytes - fixed)),
      "cuFuncSetAttribute", Errc::compile_failed);
}

void FamilyExecutable::find(const std::string& entry, const std::string& unaligned_entry,
                            const DeviceFacts& device) {
  kernel_ = unaligned_kernel_ = find(entry);
  max_threads_ = value(KernelAttribute::max_threads_per_block, kernel_);
  spill_bytes_ = value(KernelAttribute::local_bytes, kernel_);
  allow_shared(kernel_, device);
  if (!unaligned_entry.empty()) {
    // Which of the two a launch starts is seen when it is made: limits are those of both.
    unaligned_kernel_ = find(unaligned_entry);
    max_threads_ =
        std::min(max_threads_, value(KernelAttribute::max_threads_per_block, unaligned_kernel_));
    spill_bytes_ = std::max(spill_bytes_, value(KernelAttribute::local_bytes, unaligned_kernel_));
    allow_shared(unaligned_kernel_, device);
  }
  preferred_block_ = choose_block();
}

std::uint32_t FamilyExecutable::choose_block() const {
  // 256 first, so that unlike kernels agree; another size only where more threads are resident.
  const std::uint32_t most = runtime::within_scratch_budget(max_threads_, spill_bytes_);
  std::uint32_t best = 0;
  std::uint32_t most_threads = 0;
  for (std::uint32_t size : {256u, 128u, 512u, 64u, 1024u, 32u}) {
    if (size > most) continue;
    int blocks = 0;
    reporter_.check(reporter_.api().ActiveBlocks(&blocks, kernel_, static_cast<int>(size), 0),
                    "cuOccupancyMaxActiveBlocksPerMultiprocessor", Errc::compile_failed);
    const std::uint32_t threads = size * static_cast<std::uint32_t>(blocks);
    if (best == 0 || threads > most_threads) {
      best = size;
      most_threads = threads;
    }
  }
  return best == 0 ? std::bit_floor(most) : best;
}

}  // namespace salvo::backends::cuda_family
