// Words for the reasons that explain prints.
// SPDX-License-Identifier: MIT
#include <array>

#include "salvo/window.hpp"

namespace salvo {
namespace {

struct Words {
  std::string_view name;
  std::string_view text;
};

constexpr std::array<Words, 37> kReasons{{
    {"none", "applied"},
    {"window_off", "the window is off"},
    {"backend_off", "the window is off for this backend"},
    {"cpu_device", "CPU devices are not deferred unless set_cpu_devices(true)"},
    {"direct_backend", "this backend executes directly"},
    {"paused", "a window::Pause is in scope"},
    {"escaped", "it touches memory whose raw address was handed out"},
    {"exiting", "the program is exiting"},
    {"on_stream", "it was launched on a stream"},
    {"user_intrinsic", "it uses a registered intrinsic"},
    {"live_value", "it reads a live host value"},
    {"shared_size", "it uses dynamic shared memory"},
    {"reads_grid_dim", "it reads grid_dim_x"},
    {"no_fuse", "it is marked no_fuse"},
    {"native_code", "it contains native code"},
    {"warp_operation", "it uses warp operations without a pinned subgroup size"},
    {"block_differs", "its block size differs"},
    {"grid_differs", "its grid y or z differs"},
    {"dependency", "it depends on a held launch"},
    {"group_full", "the group is full"},
    {"grid_limit", "the summed grid would pass the device's limit"},
    {"shared_limit", "the shared memory would pass the device's limit"},
    {"parameter_limit", "the parameters would pass the device's limit"},
    {"slot_limit", "the argument slots would pass the device's limit"},
    {"push_constant_limit", "the push constants would pass the device's limit"},
    {"not_profitable", "fusing is expected to lose on this device"},
    {"failed_before", "this combination failed before"},
    {"build_failed", "the fused kernel failed; its members were issued one by one"},
    {"contraction_differs", "its contraction mode differs"},
    {"needs_grant", "the device compiler may contract across the two and no grant allows it"},
    {"not_element_wise", "the consumer is not element-wise"},
    {"hazard", "the two share more bytes than the element that is stored"},
    {"unproved", "it is not proved that each element is stored once and covers the consumer's"},
    {"structure_of_arrays", "it was launched on a structure of arrays"},
    {"compiling", "the fused kernel is still being built; its members were issued one by one"},
    {"inexact_compiler", "the device's compiler cannot be kept from relaxing floating point"},
    {"cooperative_matrix", "it uses cooperative matrices"},
}};
static_assert(kReasons.size() == static_cast<std::size_t>(Reason::cooperative_matrix) + 1);

}  // namespace

std::string_view name(Reason reason) noexcept {
  return kReasons[static_cast<std::size_t>(reason)].name;
}
std::string_view describe(Reason reason) noexcept {
  return kReasons[static_cast<std::size_t>(reason)].text;
}

}  // namespace salvo
