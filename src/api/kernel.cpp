// Kernel handles: tracing into a record, printing it.
// SPDX-License-Identifier: MIT
#include "salvo/kernel.hpp"

#include <utility>
#include <vector>

#include "codegen/target.hpp"
#include "dsl/tracer.hpp"
#include "ir/print.hpp"
#include "window/kernel_record.hpp"

namespace salvo::detail {

std::shared_ptr<KernelRecord> trace_kernel(std::string name, const Body& body,
                                           const std::source_location& where) {
  dsl::Traced traced = dsl::trace(std::move(name), body, where);
  std::vector<window::LiveValue> live;
  for (const auto& one : traced.live) live.push_back({one.parameter, one.host, one.type});
  return std::make_shared<KernelRecord>(std::move(traced.kernel), std::move(live));
}

Contraction kernel_contraction(const KernelRecord& record) {
  return record.contraction;
}
std::shared_ptr<KernelRecord> with_contraction(const KernelRecord& record, Contraction mode) {
  return record.in_mode(mode);
}

const std::string& kernel_name(const KernelRecord& record) {
  return record.kernel.name;
}
std::string kernel_ir(const KernelRecord& record) {
  return ir::print(record.kernel);
}
std::string kernel_source(const KernelRecord& record, const std::string& target) {
  const bool fuses = record.contraction == Contraction::fixed;
  return codegen::source(fuses ? record.contracted() : record.kernel, target);
}

}  // namespace salvo::detail
