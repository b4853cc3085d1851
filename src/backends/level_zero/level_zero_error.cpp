// Turns Level Zero results into salvo::Error.
// SPDX-License-Identifier: MIT
#include "backends/level_zero/level_zero_error.hpp"

#include <utility>

#include <fmt/format.h>

namespace salvo::backends::level_zero {

using ze::Result;

std::string result_name(Result result) {
  switch (result) {
    case Result::success:
      return "ZE_RESULT_SUCCESS";
    case Result::not_ready:
      return "ZE_RESULT_NOT_READY";
#define SALVO_LEVEL_ZERO_RESULT(value, name) \
  case Result::value:                        \
    return "ZE_RESULT_ERROR_" #name;
      SALVO_LEVEL_ZERO_RESULT(device_lost, DEVICE_LOST)
      SALVO_LEVEL_ZERO_RESULT(out_of_host_memory, OUT_OF_HOST_MEMORY)
      SALVO_LEVEL_ZERO_RESULT(out_of_device_memory, OUT_OF_DEVICE_MEMORY)
      SALVO_LEVEL_ZERO_RESULT(module_build_failure, MODULE_BUILD_FAILURE)
      SALVO_LEVEL_ZERO_RESULT(module_link_failure, MODULE_LINK_FAILURE)
      SALVO_LEVEL_ZERO_RESULT(device_requires_reset, DEVICE_REQUIRES_RESET)
      SALVO_LEVEL_ZERO_RESULT(device_in_low_power_state, DEVICE_IN_LOW_POWER_STATE)
      SALVO_LEVEL_ZERO_RESULT(insufficient_permissions, INSUFFICIENT_PERMISSIONS)
      SALVO_LEVEL_ZERO_RESULT(not_available, NOT_AVAILABLE)
      SALVO_LEVEL_ZERO_RESULT(dependency_unavailable, DEPENDENCY_UNAVAILABLE)
      SALVO_LEVEL_ZERO_RESULT(uninitialized, UNINITIALIZED)
      SALVO_LEVEL_ZERO_RESULT(unsupported_version, UNSUPPORTED_VERSION)
      SALVO_LEVEL_ZERO_RESULT(unsupported_feature, UNSUPPORTED_FEATURE)
      SALVO_LEVEL_ZERO_RESULT(invalid_argument, INVALID_ARGUMENT)
      SALVO_LEVEL_ZERO_RESULT(invalid_null_handle, INVALID_NULL_HANDLE)
      SALVO_LEVEL_ZERO_RESULT(handle_object_in_use, HANDLE_OBJECT_IN_USE)
      SALVO_LEVEL_ZERO_RESULT(invalid_null_pointer, INVALID_NULL_POINTER)
      SALVO_LEVEL_ZERO_RESULT(invalid_size, INVALID_SIZE)
      SALVO_LEVEL_ZERO_RESULT(unsupported_size, UNSUPPORTED_SIZE)
      SALVO_LEVEL_ZERO_RESULT(unsupported_alignment, UNSUPPORTED_ALIGNMENT)
      SALVO_LEVEL_ZERO_RESULT(invalid_synchronization_object, INVALID_SYNCHRONIZATION_OBJECT)
      SALVO_LEVEL_ZERO_RESULT(invalid_enumeration, INVALID_ENUMERATION)
      SALVO_LEVEL_ZERO_RESULT(unsupported_enumeration, UNSUPPORTED_ENUMERATION)
      SALVO_LEVEL_ZERO_RESULT(invalid_native_binary, INVALID_NATIVE_BINARY)
      SALVO_LEVEL_ZERO_RESULT(invalid_kernel_name, INVALID_KERNEL_NAME)
      SALVO_LEVEL_ZERO_RESULT(invalid_group_size_dimension, INVALID_GROUP_SIZE_DIMENSION)
      SALVO_LEVEL_ZERO_RESULT(invalid_kernel_argument_index, INVALID_KERNEL_ARGUMENT_INDEX)
      SALVO_LEVEL_ZERO_RESULT(invalid_kernel_argument_size, INVALID_KERNEL_ARGUMENT_SIZE)
      SALVO_LEVEL_ZERO_RESULT(invalid_module_unlinked, INVALID_MODULE_UNLINKED)
      SALVO_LEVEL_ZERO_RESULT(invalid_command_list_type, INVALID_COMMAND_LIST_TYPE)
      SALVO_LEVEL_ZERO_RESULT(overlapping_regions, OVERLAPPING_REGIONS)
      SALVO_LEVEL_ZERO_RESULT(unknown, UNKNOWN)
#undef SALVO_LEVEL_ZERO_RESULT
  }
  return fmt::format("Level Zero error 0x{:x}", static_cast<std::uint32_t>(result));
}

namespace {

Error::Details details(Result result, std::string_view operation, Errc otherwise) {
  Errc code = otherwise;
  switch (result) {
    case Result::out_of_host_memory:
    case Result::out_of_device_memory:
      code = Errc::out_of_memory;
      break;
    case Result::device_lost:
    case Result::device_requires_reset:
      code = Errc::device_lost;
      break;
    default:
      break;
  }
  return {.code = code,
          .message = result_name(result),
          .backend = std::string(kName),
          .operation = std::string(operation)};
}

}  // namespace

void fail(Result result, std::string_view operation, Errc otherwise, std::string log) {
  Error::Details what = details(result, operation, otherwise);
  what.log = std::move(log);
  throw Error(std::move(what));
}

void fail_late(Result result, std::string_view operation, Errc otherwise) {
  Error::Details what = details(result, operation, otherwise);
  what.may_have_started = true;
  throw Error(std::move(what));
}

}  // namespace salvo::backends::level_zero
