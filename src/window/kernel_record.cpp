// A traced kernel with what is known of it, once for all and per device.
// SPDX-License-Identifier: MIT
#include "window/kernel_record.hpp"

#include <fmt/format.h>

#include <utility>

#include "fusion/horizontal.hpp"
#include "passes/contract.hpp"
#include "passes/split_records.hpp"
#include "runtime/backend_names.hpp"
#include "runtime/names.hpp"
#include "salvo/error.hpp"

namespace salvo::detail {
namespace {

std::uint64_t next_serial() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::vector<window::ParameterFacts> facts_of(const ir::Kernel& kernel,
                                             const passes::Summary& summary) {
  using runtime::AccessMode;
  std::vector<window::ParameterFacts> all;
  for (std::size_t p = 0; p < kernel.parameters.size(); ++p) {
    window::ParameterFacts facts;
    if (kernel.parameters[p].is_span) {
      const passes::ParameterAccess& access = summary.parameters[p];
      facts.is_span = true;
      facts.reads = access.reads || access.atomics;
      facts.writes = access.writes || access.atomics;
      facts.element_bytes = kernel.memories[kernel.parameters[p].memory].element.size;
      facts.access = facts.reads && facts.writes ? AccessMode::read_write
                     : facts.writes              ? AccessMode::write
                     : facts.reads               ? AccessMode::read
                                                 : AccessMode::none;
    }
    all.push_back(facts);
  }
  return all;
}

[[noreturn]] void refuse(const KernelRecord& record, const runtime::DeviceState& device,
                         std::string message) {
  Error::Details details;
  details.code = Errc::unsupported;
  details.backend = device.backend_name();
  details.operation = "launch";
  details.kernel = record.kernel.name;
  details.message = std::move(message);
  throw Error(std::move(details));
}

/// The limits of a launch; features are checked where the kernel is translated.
void check_limits(const KernelRecord& record, const runtime::DeviceState& device,
                  const runtime::ParameterCost& cost) {
  const DeviceProperties& limits = device.properties();
  if (limits.parameter_bytes != 0 && cost.bytes > limits.parameter_bytes) {
    refuse(record, device,
           fmt::format("its parameters take {} bytes and {} has {}", cost.bytes, device.id(),
                       limits.parameter_bytes));
  }
  if (limits.argument_slots != 0 && cost.slots > limits.argument_slots) {
    refuse(record, device,
           fmt::format("its parameters take {} argument slots and {} has {}", cost.slots,
                       device.id(), limits.argument_slots));
  }
}

}  // namespace

KernelRecord::KernelRecord(ir::Kernel traced, std::vector<window::LiveValue> live_values,
                           Contraction mode)
    : serial(next_serial()),
      kernel(std::move(traced)),
      name(runtime::lasting_name(kernel.name)),
      live(std::move(live_values)),
      contraction(mode),
      summary(passes::summarize(kernel)),
      digest(ir::hash(kernel)),
      horizontal_refusal(live.empty() ? fusion::horizontal_refusal(kernel, summary)
                                      : Reason::live_value),
      parameters(facts_of(kernel, summary)),
      shared_bytes(kernel.shared_bytes()),
      shared_arrays(fusion::shared_arrays(kernel)),
      final_form_(false) {}

KernelRecord::KernelRecord(ir::Kernel fused, ir::Kernel contracted,
                           std::vector<window::LiveValue> live_values,
                           std::vector<fusion::DisjointSpans> kept_apart, Contraction mode)
    : serial(next_serial()),
      kernel(std::move(fused)),
      name(runtime::lasting_name(kernel.name)),
      live(std::move(live_values)),
      contraction(mode),
      summary(passes::summarize(kernel)),
      digest(ir::hash(kernel)),
      horizontal_refusal(live.empty() ? fusion::horizontal_refusal(kernel, summary)
                                      : Reason::live_value),
      parameters(facts_of(kernel, summary)),
      shared_bytes(kernel.shared_bytes()),
      shared_arrays(fusion::shared_arrays(kernel)),
      apart(std::move(kept_apart)),
      final_form_(false),
      contracted_(std::make_shared<const ir::Kernel>(std::move(contracted))) {}

KernelRecord::KernelRecord(ir::Kernel merged, const KernelRecord& producer,
                           const KernelRecord& consumer)
    : serial(next_serial()),
      kernel(std::move(merged)),
      name(kernel.name),
      contraction(producer.contraction),
      summary(passes::summarize(kernel)),
      digest(ir::hash(kernel)),
      horizontal_refusal(producer.horizontal_refusal != Reason::none ? producer.horizontal_refusal
                                                                     : consumer.horizontal_refusal),
      parameters(facts_of(kernel, summary)),
      shared_bytes(kernel.shared_bytes()),
      shared_arrays(fusion::shared_arrays(kernel)),
      final_form_(true) {}

KernelRecord::~KernelRecord() {
  delete prepared_.load();
}

std::shared_ptr<KernelRecord> KernelRecord::in_mode(Contraction mode) const {
  return std::make_shared<KernelRecord>(kernel, contracted(), live, apart, mode);
}

std::shared_ptr<KernelRecord> KernelRecord::split_records(const std::vector<bool>& split) {
  if (!apart.empty()) {
    throw Error(Errc::unsupported, fmt::format("{} is made of two kernels by salvo::fuse and takes "
                                               "no structure of arrays",
                                               kernel.name));
  }
  const std::lock_guard lock(lock_);
  std::shared_ptr<KernelRecord>& known = split_[split];
  if (!known) {
    ir::Kernel columns = passes::split_records(kernel, split);
    // Live values follow the declared parameters.
    const auto added = static_cast<std::uint32_t>(columns.parameters.size() - parameters.size());
    std::vector<window::LiveValue> moved = live;
    for (window::LiveValue& value : moved) value.parameter += added;
    auto made = std::make_shared<KernelRecord>(std::move(columns),
                                               passes::split_records(contracted(), split),
                                               std::move(moved), apart, contraction);
    made->never_held = Reason::structure_of_arrays;
    known = std::move(made);
  }
  return known;
}

const ir::Kernel& KernelRecord::contracted() const {
  std::call_once(contracting_, [this] {
    if (!contracted_) contracted_ = std::make_shared<const ir::Kernel>(passes::contract(kernel));
  });
  return *contracted_;
}

const ir::Kernel& KernelRecord::form_for(const DeviceProperties& device) const {
  const bool as_traced = final_form_ || contraction != Contraction::fixed || !device.fast_fma;
  return as_traced ? kernel : contracted();
}

window::Prepared* KernelRecord::known_on(const runtime::DeviceState& device) const noexcept {
  const std::uint32_t which = device.serial(), generation = device.generation();
  window::Prepared* one = prepared_.load(std::memory_order_acquire);
  while (one && (one->device_serial != which || one->made_in != generation)) one = one->next.get();
  return one;
}

window::Prepared& KernelRecord::on(runtime::DeviceState& device) {
  if (window::Prepared* known = known_on(device)) return *known;
  const std::lock_guard lock(lock_);
  if (window::Prepared* known = known_on(device)) return *known;
  auto made = std::make_unique<window::Prepared>();
  made->device_serial = device.serial();
  // Before the source: if the launch cache is cleared meanwhile, this form is made once more. Older
  // forms stay, because held launches use them.
  made->made_in = device.generation();
  made->kernel = &form_for(device.properties());
  made->digest = made->kernel == &kernel ? digest : ir::hash(*made->kernel);
  made->device_contraction = contraction == Contraction::device &&
                             runtime::kBackends[device.backend_index()].contracts_on_request;
  made->cost = device.driver().parameter_cost(*made->kernel);
  runtime::FirstLaunchCounts& counts = device.first_launch_counts();
  counts.capability_checks.fetch_add(1, std::memory_order_relaxed);
  check_limits(*this, device, made->cost);
  for (const bool may_alias : {false, true}) {
    made->programs[may_alias ? 1 : 0] = device.translate(
        *made->kernel, window::translate_options(may_alias, made->device_contraction));
  }
  made->next.reset(prepared_.load());
  prepared_.store(made.get(), std::memory_order_release);
  return *made.release();
}

}  // namespace salvo::detail
