// What the loader asks of a driver's library: a getter for each table of functions.
// SPDX-License-Identifier: MIT
#include "drivers/level_zero/functions.hpp"

#define SALVO_EXPORT extern "C" __attribute__((visibility("default")))

#define SALVO_TABLE(getter, type)                                 \
  SALVO_EXPORT ze_result_t getter(ze_api_version_t, type* table); \
  ze_result_t getter(ze_api_version_t, type* table) {             \
    if (!table) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;      \
    salvo::test::level_zero::fill(*table);                        \
    return ZE_RESULT_SUCCESS;                                     \
  }

SALVO_TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t)
SALVO_TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t)
SALVO_TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t)
SALVO_TABLE(zeGetContextProcAddrTable, ze_context_dditable_t)
SALVO_TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t)
SALVO_TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t)
SALVO_TABLE(zeGetEventProcAddrTable, ze_event_dditable_t)
SALVO_TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t)
SALVO_TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t)
SALVO_TABLE(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t)
SALVO_TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t)
