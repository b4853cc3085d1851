// The stand-in driver's functions for command lists, events and launches.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <limits>

#include "drivers/level_zero/functions.hpp"
#include "drivers/level_zero/objects.hpp"
#include "drivers/level_zero/scheduler.hpp"

namespace salvo::test::level_zero {

ze_result_t set_argument(KernelObject& kernel, std::uint32_t index, std::size_t size,
                         const void* value) {
  ArgumentValue& argument = kernel.arguments[index];
  const Passing& passing = kernel.passing[index];
  if (passing.how == Passing::How::shared) {
    if (value || size == 0) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
    argument.shared_bytes = size;
  } else {
    if (!value || size != passing.bytes) {
      return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
    }
    const auto* bytes = static_cast<const std::uint8_t*>(value);
    argument.bytes.assign(bytes, bytes + size);
  }
  argument.is_set = true;
  return ZE_RESULT_SUCCESS;
}

ze_result_t set_group(KernelObject& kernel, const Three& group) {
  const std::uint64_t threads = std::uint64_t{group[0]} * group[1] * group[2];
  if (threads == 0 || threads > kernel.max_group_size) {
    return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  }
  kernel.group = group;
  return ZE_RESULT_SUCCESS;
}

namespace {

/// Specification 1.14.
struct GroupSize {
  std::uint32_t x, y, z;
};

constexpr std::uint32_t kInOrder = 2;  // specification 1.7
constexpr std::uint32_t kInOrderVersion = 0x10007;
constexpr std::uint32_t kIndexOfComputeQueues = 1;

EventObject* event_of(ze_event_handle_t handle) {
  return to_object<EventObject>(handle);
}

Command command(std::function<bool()> work, ze_event_handle_t signal, std::uint32_t count,
                ze_event_handle_t* waits) {
  Command made;
  made.work = std::move(work);
  made.signal = event_of(signal);
  for (std::uint32_t i = 0; i < count; ++i) made.waits.push_back(event_of(waits[i]));
  return made;
}

// Lists.

ze_result_t list_create_immediate(ze_context_handle_t, ze_device_handle_t,
                                  const ze_command_queue_desc_t* desc,
                                  ze_command_list_handle_t* handle) {
  State& state = State::instance();
  state.note_call("zeCommandListCreateImmediate");
  if (desc->ordinal != kIndexOfComputeQueues) state.note_misuse("a list on queues that only copy");
  auto* made_list = made<ListObject>();
  // As old drivers do: the flag is taken, and ignored.
  made_list->in_order =
      (desc->flags & kInOrder) != 0 && state.knobs().api_version >= kInOrderVersion;
  Scheduler::instance().add(made_list);
  *handle = to_handle<ze_command_list_handle_t>(made_list);
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_destroy(ze_command_list_handle_t handle) {
  State::instance().note_call("zeCommandListDestroy");
  if (!Scheduler::instance().remove(to_object<ListObject>(handle)) ||
      State::instance().knobs().busy) {
    State::instance().note_misuse("a command list was destroyed while it was busy");
  }
  destroyed<ListObject>(handle);
  return ZE_RESULT_SUCCESS;
}

void append(ze_command_list_handle_t list, Command what) {
  Scheduler::instance().append(to_object<ListObject>(list), std::move(what));
}

ze_result_t list_append_barrier(ze_command_list_handle_t list, ze_event_handle_t signal,
                                std::uint32_t count, ze_event_handle_t* waits) {
  State::instance().note_call("zeCommandListAppendBarrier");
  append(list, command(nullptr, signal, count, waits));
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_append_copy(ze_command_list_handle_t list, void* to, const void* from,
                             std::size_t bytes, ze_event_handle_t signal, std::uint32_t count,
                             ze_event_handle_t* waits) {
  State::instance().note_call("zeCommandListAppendMemoryCopy");
  append(list, command(
                   [=] {
                     std::memmove(to, from, bytes);
                     return true;
                   },
                   signal, count, waits));
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_append_fill(ze_command_list_handle_t list, void* to, const void* pattern,
                             std::size_t pattern_bytes, std::size_t bytes, ze_event_handle_t signal,
                             std::uint32_t count, ze_event_handle_t* waits) {
  State::instance().note_call("zeCommandListAppendMemoryFill");
  const auto* first = static_cast<const std::uint8_t*>(pattern);
  append(list, command(
                   [to, bytes, kept = std::vector(first, first + pattern_bytes)] {
                     auto* target = static_cast<std::uint8_t*>(to);
                     for (std::size_t i = 0; i < bytes; ++i) target[i] = kept[i % kept.size()];
                     return true;
                   },
                   signal, count, waits));
  return ZE_RESULT_SUCCESS;
}

ze_result_t launch(ze_command_list_handle_t list, KernelObject& kernel,
                   const ze_group_count_t& groups, ze_event_handle_t signal, std::uint32_t count,
                   ze_event_handle_t* waits) {
  for (const ArgumentValue& argument : kernel.arguments) {
    if (!argument.is_set) {
      State::instance().note_misuse("a launch with an argument that was never set");
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
  }
  if (kernel.group[0] == 0) return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  append(list, command(
                   [code = kernel.code, passing = kernel.passing, arguments = kernel.arguments,
                    group = kernel.group,
                    counts = Three{groups.groupCountX, groups.groupCountY, groups.groupCountZ}] {
                     return Engine::instance()->run(*code, passing, arguments, group, counts);
                   },
                   signal, count, waits));
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_append_launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                               const ze_group_count_t* groups, ze_event_handle_t signal,
                               std::uint32_t count, ze_event_handle_t* waits) {
  State::instance().note_call("zeCommandListAppendLaunchKernel");
  return launch(list, *to_object<KernelObject>(kernel), *groups, signal, count, waits);
}

ze_result_t list_append_launch_with_arguments(ze_command_list_handle_t list,
                                              ze_kernel_handle_t handle, ze_group_count_t groups,
                                              GroupSize group, void** arguments, const void*,
                                              ze_event_handle_t signal, std::uint32_t count,
                                              ze_event_handle_t* waits) {
  State::instance().note_call("zeCommandListAppendLaunchKernelWithArguments");
  if (State::instance().knobs().launch_with_arguments_unsupported) {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  }
  KernelObject& kernel = *to_object<KernelObject>(handle);
  if (const ze_result_t bad = set_group(kernel, {group.x, group.y, group.z})) return bad;
  for (std::uint32_t i = 0; i < kernel.passing.size(); ++i) {
    std::size_t size = kernel.passing[i].bytes;
    const bool shared = kernel.passing[i].how == Passing::How::shared;
    if (shared) std::memcpy(&size, arguments[i], sizeof(size));
    const ze_result_t bad = set_argument(kernel, i, size, shared ? nullptr : arguments[i]);
    if (bad) return bad;
  }
  return launch(list, kernel, groups, signal, count, waits);
}

ze_result_t result_of(Scheduler::Outcome outcome, std::uint64_t timeout) {
  constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();
  if (State::instance().knobs().busy && timeout != kForEver) return ZE_RESULT_NOT_READY;
  if (outcome == Scheduler::Outcome::done) return ZE_RESULT_SUCCESS;
  if (outcome == Scheduler::Outcome::failed) return ZE_RESULT_ERROR_DEVICE_LOST;
  if (timeout != kForEver) return ZE_RESULT_NOT_READY;
  State::instance().note_misuse("a wait for what can never come");
  return ZE_RESULT_ERROR_DEVICE_LOST;
}

ze_result_t list_host_synchronize(ze_command_list_handle_t list, std::uint64_t timeout) {
  State::instance().note_call("zeCommandListHostSynchronize");
  if (State::instance().knobs().host_synchronize_unsupported) {
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  }
  return result_of(Scheduler::instance().wait(to_object<ListObject>(list)), timeout);
}

// Events.

struct PoolObject {};

ze_result_t pool_create(ze_context_handle_t, const ze_event_pool_desc_t*, std::uint32_t,
                        ze_device_handle_t*, ze_event_pool_handle_t* pool) {
  State::instance().note_call("zeEventPoolCreate");
  *pool = to_handle<ze_event_pool_handle_t>(made<PoolObject>());
  return ZE_RESULT_SUCCESS;
}

ze_result_t pool_destroy(ze_event_pool_handle_t pool) {
  State::instance().note_call("zeEventPoolDestroy");
  destroyed<PoolObject>(pool);
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_create(ze_event_pool_handle_t, const ze_event_desc_t*, ze_event_handle_t* event) {
  State::instance().note_call("zeEventCreate");
  *event = to_handle<ze_event_handle_t>(made<EventObject>());
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_destroy(ze_event_handle_t event) {
  State::instance().note_call("zeEventDestroy");
  destroyed<EventObject>(event);
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_synchronize(ze_event_handle_t event, std::uint64_t timeout) {
  State::instance().note_call("zeEventHostSynchronize");
  return result_of(Scheduler::instance().wait(event_of(event)), timeout);
}

ze_result_t event_query(ze_event_handle_t event) {
  State::instance().note_call("zeEventQueryStatus");
  return result_of(Scheduler::instance().wait(event_of(event)), 0);
}

ze_result_t event_reset(ze_event_handle_t event) {
  State::instance().note_call("zeEventHostReset");
  Scheduler::instance().reset(event_of(event));
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_timestamp(ze_event_handle_t event, ze_kernel_timestamp_result_t* result) {
  State::instance().note_call("zeEventQueryKernelTimestamp");
  const auto [start, end] = Scheduler::instance().times(event_of(event));
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kTimestampBits) - 1;
  result->global = {start & kMask, end & kMask};
  result->context = result->global;
  return ZE_RESULT_SUCCESS;
}

// Memory of the host's own.

ze_result_t import_pointer(ze_driver_handle_t, void*, std::size_t) {
  State::instance().note_call("zexDriverImportExternalPointer");
  State::instance().note_object(1);
  return ZE_RESULT_SUCCESS;
}

ze_result_t release_pointer(ze_driver_handle_t, void*) {
  State::instance().note_call("zexDriverReleaseImportedPointer");
  State::instance().note_object(-1);
  return ZE_RESULT_SUCCESS;
}

}  // namespace

void fill(ze_command_list_dditable_t& table) {
  table.pfnCreateImmediate = list_create_immediate;
  table.pfnDestroy = list_destroy;
  table.pfnAppendBarrier = list_append_barrier;
  table.pfnAppendMemoryCopy = list_append_copy;
  table.pfnAppendMemoryFill = list_append_fill;
  table.pfnAppendLaunchKernel = list_append_launch;
}
void fill(ze_event_pool_dditable_t& table) {
  table.pfnCreate = pool_create;
  table.pfnDestroy = pool_destroy;
}
void fill(ze_event_dditable_t& table) {
  table.pfnCreate = event_create;
  table.pfnDestroy = event_destroy;
  table.pfnHostSynchronize = event_synchronize;
  table.pfnQueryStatus = event_query;
  table.pfnHostReset = event_reset;
  table.pfnQueryKernelTimestamp = event_timestamp;
}

void* later_function(const char* name) {
  const Knobs& knobs = State::instance().knobs();
  const auto is = [&](const char* which) { return std::strcmp(name, which) == 0; };
  if (is("zeCommandListHostSynchronize") && knobs.has_host_synchronize) {
    return reinterpret_cast<void*>(list_host_synchronize);
  }
  if (is("zeCommandListAppendLaunchKernelWithArguments") && knobs.has_launch_with_arguments) {
    return reinterpret_cast<void*>(list_append_launch_with_arguments);
  }
  if (is("zexDriverImportExternalPointer")) return reinterpret_cast<void*>(import_pointer);
  if (is("zexDriverReleaseImportedPointer")) return reinterpret_cast<void*>(release_pointer);
  return nullptr;
}

}  // namespace salvo::test::level_zero
