// Explicit fusion of two kernel records, with its errors (W49).
// SPDX-License-Identifier: MIT
#include "salvo/fuse.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "fusion/explicit.hpp"
#include "ir/verify.hpp"
#include "passes/convergence.hpp"
#include "window/kernel_record.hpp"

namespace salvo::detail {
namespace {

[[noreturn]] void refuse(const FusePart& producer, const FusePart& consumer, SourceLocation source,
                         const std::string& reason) {
  Error::Details details;
  details.code = Errc::invalid_kernel;
  details.operation = "fuse";
  details.kernel = producer.record.kernel.name + ">" + consumer.record.kernel.name;
  details.message = "the two cannot be fused: " + reason;
  details.source = std::move(source);
  throw Error(std::move(details));
}

std::uint32_t live_count(const KernelRecord& record) {
  return static_cast<std::uint32_t>(record.live.size());
}

}  // namespace

std::shared_ptr<KernelRecord> fuse_kernels(FusePart producer, FusePart consumer,
                                           const std::source_location& where) {
  const auto part = [](const FusePart& of, const ir::Kernel& kernel) {
    return fusion::FusedPart{kernel, of.intermediate, live_count(of.record)};
  };
  const fusion::FusedPart first = part(producer, producer.record.kernel);
  const fusion::FusedPart second = part(consumer, consumer.record.kernel);
  if (producer.record.contraction != consumer.record.contraction) {
    refuse(producer, consumer, SourceLocation::from(where), "their contraction modes differ");
  }
  if (const auto obstacle = fusion::find_obstacle(first, second)) {
    SourceLocation source = SourceLocation::from(where);
    if (obstacle->location != ir::kNone) {
      const ir::Location& at = obstacle->kernel->locations[obstacle->location];
      source = {at.file, at.line};
    }
    refuse(producer, consumer, std::move(source), obstacle->words);
  }

  ir::Kernel fused = fusion::fuse_through(first, second);
  if (const auto faults = passes::check_convergence(fused); !faults.empty()) {
    refuse(producer, consumer, SourceLocation::from(where), faults.front().message);
  }
  if (const auto faults = ir::verify(fused); !faults.empty()) {
    refuse(producer, consumer, SourceLocation::from(where),
           fmt::format("{}", fmt::join(faults, "; ")));
  }
  ir::Kernel contracted = fusion::fuse_through(part(producer, producer.record.contracted()),
                                               part(consumer, consumer.record.contracted()));
  // Live values stand at the end, the producer's first.
  std::vector<window::LiveValue> live;
  auto next = static_cast<std::uint32_t>(fused.parameters.size()) - first.live - second.live;
  for (const KernelRecord* record : {&producer.record, &consumer.record}) {
    for (const window::LiveValue& one : record->live) live.push_back({next++, one.host, one.type});
  }
  return std::make_shared<KernelRecord>(std::move(fused), std::move(contracted), std::move(live),
                                        fusion::spans_kept_apart(first, second),
                                        producer.record.contraction);
}

}  // namespace salvo::detail
