// Asks a driver what its device is and can do.
// SPDX-License-Identifier: MIT
#include "backends/opencl/opencl_properties.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "backends/opencl/opencl_error.hpp"

namespace salvo::backends::opencl {
namespace {

class Questions {
 public:
  Questions(const Api& api, cl_device_id id) : api_(api), id_(id) {}

  template <typename T>
  T value(cl_device_info what) const {
    T result{};
    check(api_.GetDeviceInfo(id_, what, sizeof(result), &result, nullptr), "clGetDeviceInfo",
          Errc::backend_unavailable);
    return result;
  }

  std::string text(cl_device_info what) const {
    return text(
        [&](std::size_t bytes, void* target, std::size_t* needed) {
          return api_.GetDeviceInfo(id_, what, bytes, target, needed);
        },
        "clGetDeviceInfo");
  }

  std::string platform_text(cl_platform_info what) const {
    const auto platform = value<cl_platform_id>(CL_DEVICE_PLATFORM);
    return text(
        [&](std::size_t bytes, void* target, std::size_t* needed) {
          return api_.GetPlatformInfo(platform, what, bytes, target, needed);
        },
        "clGetPlatformInfo");
  }

 private:
  template <typename Ask>
  static std::string text(const Ask& ask, std::string_view operation) {
    std::size_t bytes = 0;
    check(ask(0, nullptr, &bytes), operation, Errc::backend_unavailable);
    std::string result(bytes, '\0');
    check(ask(bytes, result.data(), nullptr), operation, Errc::backend_unavailable);
    result.resize(std::min(result.size(), result.find('\0')));
    return result;
  }

  const Api& api_;
  cl_device_id id_;
};

/// Whether `name` is one of the words of `list`; some are prefixes of others.
bool lists(std::string_view list, std::string_view name) {
  for (std::size_t at = 0; (at = list.find(name, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + name.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

std::string obstacle(const Questions& ask, std::string_view version) {
  if (!ask.value<cl_bool>(CL_DEVICE_AVAILABLE)) return "the driver says it is not available";
  if (!ask.value<cl_bool>(CL_DEVICE_COMPILER_AVAILABLE)) return "its driver has no compiler";
  if (!ask.value<cl_bool>(CL_DEVICE_ENDIAN_LITTLE)) return "it is big-endian";
  if (version.starts_with("OpenCL 1.0") || version.starts_with("OpenCL 1.1")) {
    return fmt::format("it needs OpenCL 1.2 and has {}", version);
  }
  return {};
}

}  // namespace

DeviceFacts read_facts(const Api& api, cl_device_id id) {
  const Questions ask(api, id);
  DeviceFacts facts;
  facts.id = id;
  DeviceProperties& is = facts.properties;
  is.name = ask.text(CL_DEVICE_NAME);
  const std::string version = ask.text(CL_DEVICE_VERSION);
  facts.obstacle = obstacle(ask, version);
  if (!facts.obstacle.empty()) return facts;

  is.vendor = ask.text(CL_DEVICE_VENDOR);
  is.platform = ask.platform_text(CL_PLATFORM_NAME);
  // All three change with the compiler behind the driver, and name a stale disk cache.
  is.driver_version = fmt::format("{}; {}; {}", ask.text(CL_DRIVER_VERSION), version,
                                  ask.platform_text(CL_PLATFORM_VERSION));
  is.is_cpu = (ask.value<cl_device_type>(CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  is.is_integrated = ask.value<cl_bool>(CL_DEVICE_HOST_UNIFIED_MEMORY) != CL_FALSE;

  is.memory_bytes = ask.value<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE);
  is.max_allocation_bytes = ask.value<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  is.shared_bytes_per_block = ask.value<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE);
  is.parameter_bytes = ask.value<std::size_t>(CL_DEVICE_MAX_PARAMETER_SIZE);
  is.max_threads_per_block =
      static_cast<std::uint32_t>(ask.value<std::size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE));
  const auto sizes = ask.value<std::array<std::size_t, 3>>(CL_DEVICE_MAX_WORK_ITEM_SIZES);
  std::copy(sizes.begin(), sizes.end(), is.max_block.begin());
  // OpenCL bounds the number of work-items by size_t alone; positions in a kernel are 32 bits.
  is.max_grid.fill(std::numeric_limits<std::int32_t>::max());
  is.compute_units = ask.value<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS);

  const std::string extensions = ask.text(CL_DEVICE_EXTENSIONS);
  if (lists(extensions, "cl_nv_device_attribute_query")) {
    is.warp_size = ask.value<cl_uint>(CL_DEVICE_WARP_SIZE_NV);
  } else if (lists(extensions, "cl_amd_device_attribute_query")) {
    is.warp_size = ask.value<cl_uint>(CL_DEVICE_WAVEFRONT_WIDTH_AMD);
  }
  is.fp64 = lists(extensions, "cl_khr_fp64");
  is.fp16_storage = true;  // vload_half and vstore_half are in every version
  is.atomics_i64 = lists(extensions, "cl_khr_int64_base_atomics") &&
                   lists(extensions, "cl_khr_int64_extended_atomics");
  is.atomics_f32 = true;  // by compare-exchange on 32 bits
  is.atomics_f64 = is.fp64 && is.atomics_i64;

  is.warp_operations = lists(extensions, "cl_khr_subgroups") &&
                       lists(extensions, "cl_khr_subgroup_ballot") &&
                       lists(extensions, "cl_khr_subgroup_shuffle");
  facts.has_opencl_c_3 = version.starts_with("OpenCL 3");

  const auto single = ask.value<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG);
  is.fast_fma = (single & CL_FP_FMA) != 0 && (single & CL_FP_SOFT_FLOAT) == 0;
  is.denormals_f32 = (single & CL_FP_DENORM) != 0;
  facts.offers_exact_divide_sqrt = (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  is.exact_divide_sqrt = facts.offers_exact_divide_sqrt;
  return facts;
}

}  // namespace salvo::backends::opencl
