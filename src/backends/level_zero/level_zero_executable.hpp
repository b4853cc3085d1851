// A compiled kernel, and the arguments that it was last launched with.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/level_zero/level_zero_queue.hpp"
#include "codegen/spirv/entry.hpp"
#include "codegen/spirv/layout.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::level_zero {

/// The largest group of a kernel (P6): what the driver says of it, or else half of what the device
/// takes, because kernels with many registers halve it.
std::uint32_t most_threads(std::optional<std::uint32_t> told_by_driver, std::uint32_t device_most);

class LevelZeroExecutable final : public runtime::Executable {
 public:
  /// Compiles `code`, or loads `cached` if it is not empty.
  LevelZeroExecutable(DeviceContext& context, std::string_view code,
                      const std::vector<std::string>& options, std::span<const std::byte> cached,
                      const std::string& entry);
  ~LevelZeroExecutable() override;
  LevelZeroExecutable(const LevelZeroExecutable&) = delete;
  LevelZeroExecutable& operator=(const LevelZeroExecutable&) = delete;

  /// How the arguments of a launch become those of the entry point; one of these, once.
  void plan(const ir::Kernel& kernel, const codegen::spirv::EntryLayout& layout);
  void plan(const std::vector<codegen::spirv::EntryParameter>& parameters);

  void launch(LevelZeroQueue& queue, const runtime::LaunchShape& shape,
              std::span<const runtime::Argument> arguments);

  std::uint32_t max_threads_per_block() const noexcept override { return max_threads_; }
  std::uint32_t spill_bytes_per_thread() const noexcept override { return spill_bytes_; }
  std::vector<std::byte> binary() const override;
  std::optional<std::vector<runtime::SourceParameter>> source_parameters() const override {
    return parameters_;
  }
  /// Block size for over(n).
  std::uint32_t preferred_block() const noexcept { return preferred_block_; }

 private:
  /// A part of a launch argument, and where it goes.
  struct Piece {
    enum class What : std::uint8_t { address, length, bits };
    What what = What::bits;
    std::uint32_t argument = 0;
    std::uint32_t offset = 0;  // in the values
    std::uint32_t bytes = 8;
  };
  /// An argument of the entry point, in the values.
  struct Value {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 8;
    bool is_shared_size = false;
  };

  void make_module(std::string_view code, const std::vector<std::string>& options,
                   std::span<const std::byte> cached);
  void read_properties();
  std::uint32_t add_value(std::uint32_t bytes, bool is_shared_size = false);
  void end_plan();
  void fill(const runtime::LaunchShape& shape, std::span<const runtime::Argument> arguments);
  void set_arguments();
  bool launch_in_one_call(LevelZeroQueue& queue, const runtime::LaunchShape& shape);

  DeviceContext& context_;
  ze::Module module_ = nullptr;
  ze::Kernel kernel_ = nullptr;
  std::uint32_t max_threads_ = 1;
  std::uint32_t preferred_block_ = 1;
  std::uint32_t spill_bytes_ = 0;
  std::optional<std::vector<runtime::SourceParameter>> parameters_;
  std::uint32_t argument_count_ = 0;
  std::vector<Piece> pieces_;
  std::vector<Value> values_;

  // A kernel holds its arguments and group size until the next launch: the lock spans the first
  // argument to the append (P4).
  std::mutex mutex_;
  std::vector<std::byte> next_;
  std::vector<std::byte> last_;  // what the driver was given
  std::vector<bool> is_set_;     // by value: it was given any
  std::vector<void*> pointers_;  // into next_, by value
  runtime::Dim3 group_{0, 0, 0};
};

}  // namespace salvo::backends::level_zero
