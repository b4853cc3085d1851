// A traced kernel with what is known of it, once for all and per device.
// SPDX-License-Identifier: MIT
#include "window/kernel_record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "fusion/horizontal.hpp"
#include "passes/contract.hpp"
#include "passes/cooperative.hpp"
#include "passes/split_records.hpp"
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

/// What `kernel` needs and the device lacks, in words.
std::vector<std::string> missing(const KernelRecord& record, const runtime::DeviceState& state) {
  const DeviceProperties& device = state.properties();
  const passes::Summary& needs = record.summary;
  std::vector<std::string> lacks;
  const auto need = [&](bool needed, bool present, const char* what) {
    if (needed && !present) lacks.emplace_back(what);
  };
  need(needs.needs_fp64, device.fp64, "f64");
  need(needs.needs_fp16, device.fp16_storage, "f16");
  need(needs.needs_int64, device.int64, "i64");
  need(needs.needs_atomics_i64, device.atomics_i64, "64-bit atomics");
  need(needs.needs_atomics_f32, device.atomics_f32, "f32 atomic add");
  need(needs.needs_atomics_f64, device.atomics_f64, "f64 atomic add");
  need(needs.has_warp_operation, device.warp_operations, "warp operations");
  for (std::string& matrices :
       passes::missing_matrices(record.kernel, device.cooperative_matrices)) {
    lacks.push_back(std::move(matrices));
  }
  need(needs.has_dynamic_shared, device.dynamic_shared, "dynamic shared memory");
  if (record.kernel.shared_bytes() > device.shared_bytes_per_block) {
    lacks.push_back(fmt::format("{} bytes of shared memory (it has {})",
                                record.kernel.shared_bytes(), device.shared_bytes_per_block));
  }
  for (const ir::UserCall& call : record.kernel.user_calls) {
    if (call.code->runs_on(state.backend_name())) continue;
    lacks.push_back(fmt::format("code for '{}'", call.code->name()));
  }
  return lacks;
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

void check_limits(const KernelRecord& record, runtime::DeviceState& device,
                  const runtime::ParameterCost& cost) {
  const DeviceProperties& limits = device.properties();
  if (const auto lacks = missing(record, device); !lacks.empty()) {
    refuse(record, device, fmt::format("{} lacks {}", device.id(), fmt::join(lacks, ", ")));
  }
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

/// W50: on these, mode `device` is the same as `off`.
bool leaves_contraction_alone(const std::string& backend) {
  return backend == "HIP" || backend == "Metal";
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
  made->device_contraction =
      contraction == Contraction::device && !leaves_contraction_alone(device.backend_name());
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
