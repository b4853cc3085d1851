// A compiled kernel, and the arguments that it was last launched with.
// SPDX-License-Identifier: MIT
#include "backends/level_zero/level_zero_executable.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/level_zero/level_zero_error.hpp"
#include "runtime/scratch_budget.hpp"

namespace salvo::backends::level_zero {

using runtime::Argument;
using runtime::LaunchShape;
using ze::Result;

namespace {

/// A query and what is chained to it, alive for as long as the driver may write to them (P8).
struct KernelQuery {
  explicit KernelQuery(bool asks_most) {
    if (asks_most) kernel.next = &most;
  }
  KernelQuery(const KernelQuery&) = delete;
  KernelQuery& operator=(const KernelQuery&) = delete;

  ze::KernelProperties kernel;
  ze::KernelMaxGroupSizeProperties most;
};

/// The compiler's words; empty where they cannot be had, because the build's result is the news.
std::string text_of(const Api& api, ze::BuildLog log) {
  std::size_t bytes = 0;
  if (!log || api.ModuleBuildLogGetString(log, &bytes, nullptr) != Result::success) return {};
  std::string text(bytes, '\0');
  if (api.ModuleBuildLogGetString(log, &bytes, text.data()) != Result::success) return {};
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

[[noreturn]] void refuse(Errc code, std::string message) {
  throw Error(Error::Details{.code = code,
                             .message = std::move(message),
                             .backend = std::string(kName),
                             .operation = "launch"});
}

}  // namespace

std::uint32_t most_threads(std::optional<std::uint32_t> told_by_driver, std::uint32_t device_most) {
  const std::uint32_t most = told_by_driver.value_or(device_most / 2);
  return std::clamp(most, 1u, std::max(device_most, 1u));
}

LevelZeroExecutable::LevelZeroExecutable(DeviceContext& context, std::string_view code,
                                         const std::vector<std::string>& options,
                                         std::span<const std::byte> cached,
                                         const std::string& entry)
    : context_(context) {
  make_module(code, options, cached);
  ze::KernelDesc desc;
  desc.name = entry.c_str();
  if (const Result status = context_.api.KernelCreate(module_, &desc, &kernel_);
      status != Result::success) {
    context_.api.ModuleDestroy(module_);
    fail(status, "zeKernelCreate", Errc::compile_failed);
  }
  try {
    read_properties();
  } catch (...) {
    context_.api.KernelDestroy(kernel_);
    context_.api.ModuleDestroy(module_);
    throw;
  }
}

LevelZeroExecutable::~LevelZeroExecutable() {
  context_.api.KernelDestroy(kernel_);
  context_.api.ModuleDestroy(module_);
}

void LevelZeroExecutable::make_module(std::string_view code,
                                      const std::vector<std::string>& options,
                                      std::span<const std::byte> cached) {
  const std::string flags = fmt::format("{}", fmt::join(options, " "));
  ze::ModuleDesc desc;
  desc.build_flags = flags.c_str();
  if (cached.empty()) {
    // A driver may crash on what is no module at all.
    if (!codegen::spirv::is_module(code)) {
      throw Error(Error::Details{.code = Errc::compile_failed,
                                 .message = "the code is no SPIR-V module",
                                 .backend = std::string(kName),
                                 .operation = "zeModuleCreate",
                                 .log = fmt::format("no SPIR-V module: {}", code.substr(0, 200))});
    }
    desc.format = ze::ModuleFormat::spirv;
    desc.input_size = code.size();
    desc.input = reinterpret_cast<const std::uint8_t*>(code.data());
  } else {
    desc.format = ze::ModuleFormat::native;
    desc.input_size = cached.size();
    desc.input = reinterpret_cast<const std::uint8_t*>(cached.data());
  }
  ze::BuildLog log = nullptr;
  const Result status =
      context_.api.ModuleCreate(context_.handle, context_.facts.id, &desc, &module_, &log);
  std::string words = status == Result::success ? "" : text_of(context_.api, log);
  if (log) context_.api.ModuleBuildLogDestroy(log);
  if (status != Result::success) {
    fail(status, "zeModuleCreate", Errc::compile_failed, std::move(words));
  }
}

void LevelZeroExecutable::read_properties() {
  const bool told = context_.facts.driver->extensions->kernel_max_group_size;
  KernelQuery query(told);
  check(context_.api.KernelGetProperties(kernel_, &query.kernel), "zeKernelGetProperties",
        Errc::compile_failed);
  const std::uint32_t device_most = context_.facts.properties.max_threads_per_block;
  const std::optional<std::uint32_t> of_kernel =
      told ? std::optional(query.most.max_group_size) : std::nullopt;
  spill_bytes_ = query.kernel.spill_mem_size;
  // Where the driver does not tell, an explicit block may try what the device takes.
  max_threads_ = told ? most_threads(of_kernel, device_most) : std::max(device_most, 1u);
  preferred_block_ = std::bit_floor(
      runtime::within_scratch_budget(most_threads(of_kernel, device_most), spill_bytes_));
}

std::vector<std::byte> LevelZeroExecutable::binary() const {
  std::size_t bytes = 0;
  check(context_.api.ModuleGetNativeBinary(module_, &bytes, nullptr), "zeModuleGetNativeBinary",
        Errc::compile_failed);
  std::vector<std::byte> content(bytes);
  check(context_.api.ModuleGetNativeBinary(module_, &bytes,
                                           reinterpret_cast<std::uint8_t*>(content.data())),
        "zeModuleGetNativeBinary", Errc::compile_failed);
  return content;
}

// How arguments are passed.

std::uint32_t LevelZeroExecutable::add_value(std::uint32_t bytes, bool is_shared_size) {
  const auto offset = static_cast<std::uint32_t>(next_.size());
  values_.push_back({offset, bytes, is_shared_size});
  next_.resize(next_.size() + (bytes + 7) / 8 * 8);
  return offset;
}

void LevelZeroExecutable::end_plan() {
  last_.resize(next_.size());
  is_set_.resize(values_.size());
  for (const Value& value : values_) pointers_.push_back(next_.data() + value.offset);
}

void LevelZeroExecutable::plan(const ir::Kernel& kernel,
                               const codegen::spirv::EntryLayout& layout) {
  using Kind = codegen::spirv::EntryArgument::Kind;
  std::vector<std::uint32_t> first;  // launch argument of each parameter
  for (const ir::Parameter& parameter : kernel.parameters) {
    first.push_back(argument_count_);
    argument_count_ += parameter.slots;
  }
  for (const codegen::spirv::EntryArgument& argument : layout.arguments) {
    if (argument.kind == Kind::dynamic_shared) {
      add_value(sizeof(std::size_t), true);
      continue;
    }
    const std::uint32_t offset = add_value(argument.bytes);
    if (argument.kind != Kind::table) {
      const auto what = argument.kind == Kind::span     ? Piece::What::address
                        : argument.kind == Kind::length ? Piece::What::length
                                                        : Piece::What::bits;
      pieces_.push_back({what, first[argument.parameter], offset, argument.bytes});
      continue;
    }
    for (std::size_t p = 0; p < kernel.parameters.size(); ++p) {
      const codegen::spirv::Place& place = layout.table.places[p];
      const bool is_span = kernel.parameters[p].is_span;
      for (std::uint32_t slot = 0; slot < kernel.parameters[p].slots; ++slot) {
        const std::uint32_t from = first[p] + slot;
        const std::uint32_t value = offset + place.value + slot * place.value_bytes;
        if (is_span) {
          pieces_.push_back({Piece::What::address, from, offset + place.address + 8 * slot, 8});
        }
        pieces_.push_back(
            {is_span ? Piece::What::length : Piece::What::bits, from, value, place.value_bytes});
      }
    }
    // Spans in a table are reached by address alone: the driver does not see what is used.
    check(context_.api.KernelSetIndirectAccess(kernel_, ze::kIndirectAccessDevice),
          "zeKernelSetIndirectAccess", Errc::compile_failed);
  }
  end_plan();
}

void LevelZeroExecutable::plan(const std::vector<codegen::spirv::EntryParameter>& parameters) {
  using Kind = codegen::spirv::EntryParameter::Kind;
  parameters_.emplace();
  for (const codegen::spirv::EntryParameter& parameter : parameters) {
    if (parameter.kind == Kind::shared) {
      add_value(sizeof(std::size_t), true);
      continue;
    }
    const bool is_span = parameter.kind == Kind::global;
    const std::uint32_t offset = add_value(parameter.bytes);
    pieces_.push_back({is_span ? Piece::What::address : Piece::What::bits, argument_count_++,
                       offset, parameter.bytes});
    parameters_->push_back({is_span, is_span ? 0 : parameter.bytes});
  }
  end_plan();
}

void LevelZeroExecutable::fill(const LaunchShape& shape, std::span<const Argument> arguments) {
  for (const Piece& piece : pieces_) {
    const Argument& argument = arguments[piece.argument];
    std::uint64_t value = argument.bits;
    if (piece.what == Piece::What::length) value = argument.length;
    if (piece.what == Piece::What::address) {
      value = argument.buffer ? argument.buffer.address + argument.byte_offset : 0;
    }
    std::memcpy(next_.data() + piece.offset, &value, piece.bytes);
  }
  for (const Value& value : values_) {
    if (!value.is_shared_size) continue;
    // A size of zero is an error; a kernel that is given none must not touch it anyway.
    const std::size_t bytes = std::max(shape.dynamic_shared_bytes, 16u);
    std::memcpy(next_.data() + value.offset, &bytes, sizeof(bytes));
  }
}

void LevelZeroExecutable::set_arguments() {
  for (std::uint32_t i = 0; i < values_.size(); ++i) {
    const Value& value = values_[i];
    const std::byte* now = next_.data() + value.offset;
    std::byte* last = last_.data() + value.offset;
    if (is_set_[i] && std::memcmp(now, last, value.bytes) == 0) continue;
    is_set_[i] = false;
    std::size_t bytes = value.bytes;
    if (value.is_shared_size) std::memcpy(&bytes, now, sizeof(bytes));
    check(context_.api.KernelSetArgumentValue(kernel_, i, bytes,
                                              value.is_shared_size ? nullptr : now),
          "zeKernelSetArgumentValue", Errc::launch_failed);
    std::memcpy(last, now, value.bytes);
    is_set_[i] = true;
  }
}

bool LevelZeroExecutable::launch_in_one_call(LevelZeroQueue& queue, const LaunchShape& shape) {
  const auto& call = context_.facts.driver->functions.launch_with_arguments;
  if (!call || context_.facts.driver->api_version < ze::version(1, 14) ||
      context_.lacks_launch_with_arguments.load(std::memory_order_relaxed)) {
    return false;
  }
  const Result result = call(queue.list(), kernel_, {shape.grid[0], shape.grid[1], shape.grid[2]},
                             {shape.block[0], shape.block[1], shape.block[2]}, pointers_.data(),
                             nullptr, nullptr, 0, nullptr);
  if (is_unsupported(result)) {
    context_.lacks_launch_with_arguments.store(true, std::memory_order_relaxed);
    return false;
  }
  check(result, "zeCommandListAppendLaunchKernelWithArguments", Errc::launch_failed);
  return true;
}

void LevelZeroExecutable::launch(LevelZeroQueue& queue, const LaunchShape& shape,
                                 std::span<const Argument> arguments) {
  if (arguments.size() != argument_count_) {
    refuse(Errc::invalid_argument,
           fmt::format("the kernel takes {} arguments, not {}", argument_count_, arguments.size()));
  }
  const std::lock_guard lock(mutex_);
  fill(shape, arguments);
  if (!launch_in_one_call(queue, shape)) {
    set_arguments();
    if (group_ != shape.block) {
      group_ = {0, 0, 0};
      check(
          context_.api.KernelSetGroupSize(kernel_, shape.block[0], shape.block[1], shape.block[2]),
          "zeKernelSetGroupSize", Errc::launch_failed);
      group_ = shape.block;
    }
    const ze::GroupCount groups{shape.grid[0], shape.grid[1], shape.grid[2]};
    check(context_.api.CommandListAppendLaunchKernel(queue.list(), kernel_, &groups, nullptr, 0,
                                                     nullptr),
          "zeCommandListAppendLaunchKernel", Errc::launch_failed);
  }
  queue.keep_order();
}

}  // namespace salvo::backends::level_zero
