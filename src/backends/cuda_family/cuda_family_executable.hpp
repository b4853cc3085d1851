// A kernel loaded into a context of the family: its functions, limits and parameter block.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda_family/cuda_family_error.hpp"
#include "backends/cuda_family/cuda_family_parameters.hpp"
#include "backends/cuda_family/cuda_family_properties.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::cuda_family {

class FamilyExecutable final : public runtime::Executable {
 public:
  FamilyExecutable(const Reporter& reporter, Context context, std::vector<std::byte> image);
  ~FamilyExecutable() override;
  FamilyExecutable(const FamilyExecutable&) = delete;
  FamilyExecutable& operator=(const FamilyExecutable&) = delete;

  /// Finds the kernel in the image and reads what it needs; `unaligned_entry` is Program's, or
  /// empty.
  void find(const std::string& entry, const std::string& unaligned_entry,
            const DeviceFacts& device);

  std::uint32_t max_threads_per_block() const noexcept override { return max_threads_; }
  std::uint32_t spill_bytes_per_thread() const noexcept override {
    return for_large_blocks ? std::max(spill_bytes_, for_large_blocks->spill_bytes_) : spill_bytes_;
  }
  std::vector<std::byte> binary() const override { return image_; }

  KernelHandle kernel(bool aligned = true) const noexcept {
    return aligned ? kernel_ : unaligned_kernel_;
  }
  std::uint32_t preferred_block() const noexcept { return preferred_block_; }

  const std::uint64_t serial;  // unique in the process and never used again
  /// None where the parameters are a user's own: the driver then knows their sizes.
  std::optional<ParameterBlock> parameters;
  /// The parameter block of the launch that is being made; a device launches from one thread at a
  /// time.
  std::vector<std::byte> block;
  /// Makes this kernel with a launch bound; none if its blocks can be as large as the device's, or
  /// if it was made.
  std::function<std::unique_ptr<FamilyExecutable>()> make_for_large_blocks;
  std::unique_ptr<FamilyExecutable> for_large_blocks;  // once a launch needed it

 private:
  KernelHandle find(const std::string& entry) const;
  std::uint32_t value(KernelAttribute what, KernelHandle kernel) const;
  /// Lets a kernel have all the dynamic shared memory that its device has.
  void allow_shared(KernelHandle kernel, const DeviceFacts& device) const;
  std::uint32_t choose_block() const;

  const Reporter& reporter_;
  Context context_;
  std::vector<std::byte> image_;
  Module module_ = nullptr;
  KernelHandle kernel_ = nullptr;
  KernelHandle unaligned_kernel_ = nullptr;
  std::uint32_t max_threads_ = 1;
  std::uint32_t spill_bytes_ = 0;
  std::uint32_t preferred_block_ = 1;
};

}  // namespace salvo::backends::cuda_family
