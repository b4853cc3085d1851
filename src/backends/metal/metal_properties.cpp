// What Metal says of a device, asked once in a process (P1).
// SPDX-License-Identifier: MIT
#include "backends/metal/metal_properties.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "backends/metal/metal_error.hpp"

namespace salvo::backends::metal {
namespace {

// Of MTLGPUFamily.
constexpr Int kApple6 = 1006;
constexpr Int kApple7 = 1007;
constexpr Int kMac2 = 2002;

constexpr std::uint32_t kBufferArguments = 31;
constexpr std::uint32_t kMetal2_3 = 2 << 16 | 3;
constexpr std::uint32_t kMetal3_1 = 3 << 16 | 1;
constexpr std::uint32_t kMetal3_2 = 3 << 16 | 2;

/// Metal tells no number of cores. That of the smallest GPU in a Mac with Apple's processor.
constexpr std::uint32_t kCores = 7;

constexpr const char* kByteCopy =
    "#pragma METAL fp contract(off)\n"
    "#include <metal_stdlib>\n"
    "using namespace metal;\n\n"
    "kernel void salvo_copy_bytes(\n"
    "    device const uchar* from [[buffer(0)]],\n"
    "    device uchar* to [[buffer(1)]],\n"
    "    constant uint& count [[buffer(2)]],\n"
    "    uint i [[thread_position_in_grid]]) {\n"
    "  if (i < count) to[i] = from[i];\n"
    "}\n";

/// Those that the code generator puts together from simdgroup matrices of 8x8.
std::vector<CooperativeMatrixShape> matrices_of(std::uint32_t language_version) {
  using ir::Scalar;
  std::vector<CooperativeMatrixShape> all;
  if (language_version < kMetal2_3) return all;
  for (const std::uint32_t side : {16U, 8U}) {
    all.push_back({side, side, side, Scalar::F16, Scalar::F32});
    all.push_back({side, side, side, Scalar::F16, Scalar::F16});
    if (language_version < kMetal3_1) continue;
    all.push_back({side, side, side, Scalar::BF16, Scalar::F32});
  }
  return all;
}

std::string system_of(const Api& api) {
  return api.text(api.system_version(api.process_info(api.objc_getClass("NSProcessInfo"))));
}

}  // namespace

DeviceFacts read_facts(const Api& api, Id device) {
  const Pool pool(api);
  DeviceFacts facts;
  facts.handle = retain(api, device);
  DeviceProperties& is = facts.properties;
  is.name = api.text(api.device_name(device));
  is.vendor = is.name.substr(0, is.name.find(' '));
  try {
    facts.compiler = std::make_unique<Compiler>(api, device);
    facts.byte_copy = facts.compiler->compile(kByteCopy, "salvo_copy_bytes", "salvo_copy_bytes");
  } catch (const Error& error) {
    facts.obstacle = fmt::format("{}: {}", error.message(), error.log());
    return facts;
  }
  const std::uint32_t version = facts.compiler->language_version();
  is.platform = fmt::format("Metal {}.{}", version >> 16, version & 0xffff);
  is.driver_version = fmt::format("{}; {}", system_of(api), is.platform);
  facts.unified_memory = api.has_unified_memory(device) != 0;
  facts.fences = version >= kMetal3_2;
  is.is_integrated = facts.unified_memory;

  is.memory_bytes = api.working_set_bytes(device);
  is.max_allocation_bytes = std::min<std::uint64_t>(api.max_buffer_bytes(device), is.memory_bytes);
  is.shared_bytes_per_block = api.max_threadgroup_bytes(device);
  is.argument_slots = kBufferArguments;
  is.max_threads_per_block = facts.byte_copy.max_threads;
  is.max_block.fill(is.max_threads_per_block);
  // Positions in a kernel are 32 bits.
  is.max_grid.fill(std::numeric_limits<std::int32_t>::max());
  is.compute_units = kCores;
  is.warp_size = facts.byte_copy.warp_size;

  is.fp16_storage = true;
  is.atomics_f32 = true;  // by compare-exchange on 32 bits
  is.warp_operations =
      api.supports_family(device, kApple6) != 0 || api.supports_family(device, kMac2) != 0;
  if (api.supports_family(device, kApple7) != 0) is.cooperative_matrices = matrices_of(version);
  is.fast_fma = true;
  is.exact_divide_sqrt = true;
  is.denormals_f32 = false;  // the language lets a device flush them
  is.exact_compiler_options = facts.compiler->is_exact();
  return facts;
}

}  // namespace salvo::backends::metal
