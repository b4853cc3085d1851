// The functions that the stand-in driver has, in the tables that the loader asks for.
// SPDX-License-Identifier: MIT
#pragma once

#include <level_zero/ze_ddi.h>

namespace salvo::test::level_zero {

void fill(ze_global_dditable_t& table);
void fill(ze_driver_dditable_t& table);
void fill(ze_device_dditable_t& table);
void fill(ze_context_dditable_t& table);
void fill(ze_command_list_dditable_t& table);
void fill(ze_event_pool_dditable_t& table);
void fill(ze_event_dditable_t& table);
void fill(ze_mem_dditable_t& table);
void fill(ze_module_dditable_t& table);
void fill(ze_module_build_log_dditable_t& table);
void fill(ze_kernel_dditable_t& table);

/// Functions that a driver tells the address of; null for what it has not.
void* later_function(const char* name);

}  // namespace salvo::test::level_zero
