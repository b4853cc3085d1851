// A kernel compiled for the host.
// SPDX-License-Identifier: MIT
#include "backends/native/native_executable.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "backends/native/native_error.hpp"

namespace salvo::backends::native {

using codegen::llvm::KernelEntry;
using codegen::llvm::LaunchFault;

NativeExecutable::NativeExecutable(const ir::Kernel& kernel,
                                   std::unique_ptr<const ir::Kernel> lowered,
                                   std::unique_ptr<Code> code, const std::string& entry,
                                   std::vector<std::byte> object)
    : lowered_(std::move(lowered)),
      code_(std::move(code)),
      object_(std::move(object)),
      entry_(reinterpret_cast<KernelEntry>(code_->find(entry))),
      shared_bytes_(kernel.shared_bytes()) {
  std::memcpy(&facts_, code_->find(entry + "_facts"), sizeof(facts_));
  for (const ir::Parameter& parameter : kernel.parameters) {
    spans_.insert(spans_.end(), parameter.slots, parameter.is_span);
  }
  uses_warps_ = std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [](const ir::Node& node) {
    return ir::is_warp(node.op) || node.op == ir::Op::LaneId;
  });
}

void NativeExecutable::check(const runtime::LaunchShape& shape, std::size_t arguments,
                             unsigned lanes) const {
  const runtime::Dim3& block = shape.block;
  if (arguments != spans_.size()) {
    fail(Errc::launch_failed, "launch",
         fmt::format("{} arguments for a kernel that takes {}", arguments, spans_.size()));
  }
  const auto threads = static_cast<double>(block[0]) * block[1] * block[2];
  if (threads < 1 || threads > kMaxThreadsPerBlock) {
    fail(Errc::launch_failed, "launch",
         fmt::format("a block of {}x{}x{} threads; 1 to {} are possible", block[0], block[1],
                     block[2], kMaxThreadsPerBlock));
  }
  if (const std::uint64_t shared = shared_bytes_ + shape.dynamic_shared_bytes;
      shared > kMaxSharedBytes) {
    fail(
        Errc::launch_failed, "launch",
        fmt::format("{} bytes of shared memory a block; {} are possible", shared, kMaxSharedBytes));
  }
  if (uses_warps_ && block[1] * block[2] != 1 && block[0] % lanes != 0) {
    fail(Errc::unsupported, "launch",
         fmt::format("warps of {} threads within rows of {}: a kernel with warp operations takes "
                     "blocks of one row, or of rows that are whole warps",
                     lanes, block[0]));
  }
}

void NativeExecutable::throw_fault(const LaunchFault& fault) const {
  const ir::Node& node = lowered_->node(fault.node);
  const std::string& field = lowered_->field_of(node).name;
  Error::Details details;
  details.code = Errc::check_failed;
  details.backend = kName;
  details.operation = "launch";
  details.kernel = lowered_->name;
  details.may_have_started = true;
  details.message =
      fmt::format("{} of {}[{}]{}{} {} its {} elements, by thread ({},{},{}) of block ({},{},{}){}",
                  node.op == ir::Op::Load    ? "read"
                  : node.op == ir::Op::Store ? "write"
                                             : ir::name(node.op),
                  lowered_->memories[node.memory].name, fault.index, field.empty() ? "" : ".",
                  field, fault.index < 0 ? "before" : "past", fault.length, fault.thread[0],
                  fault.thread[1], fault.thread[2], fault.block[0], fault.block[1], fault.block[2],
                  ir::in_superstep(*lowered_, node));
  if (node.location < lowered_->locations.size()) {
    const ir::Location& location = lowered_->locations[node.location];
    details.source = {location.file, location.line};
  }
  throw Error(std::move(details));
}

}  // namespace salvo::backends::native
