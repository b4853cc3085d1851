// The backends there are or will be: what setters, variables and the tool accept (W2), and what
// holds of one whether or not it is present.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace salvo::runtime {

/// Whether launches are held until the program says otherwise: W2, W5 and W4.
enum class Holding : std::uint8_t { by_default, on_request, never };

struct KnownBackend {
  std::string_view name;
  Holding holding = Holding::by_default;
  /// Whether its compiler may contract when a kernel's mode is `device`; otherwise that mode is the
  /// same as `off` (W50).
  bool contracts_on_request = true;
};

/// In order of preference for the default device.
inline constexpr std::array<KnownBackend, 10> kBackends{{
    {.name = "CUDA/PTX"},
    {.name = "CUDA/C"},
    {.name = "HIP", .contracts_on_request = false},
    {.name = "Metal", .contracts_on_request = false},
    {.name = "LevelZero"},
    {.name = "OpenCL"},
    {.name = "Vulkan"},
    {.name = "WebGPU", .holding = Holding::on_request},
    {.name = "Native", .holding = Holding::never},
    {.name = "Interpreter", .holding = Holding::never},
}};

/// Position in kBackends; its size for a name that is none of them.
constexpr std::size_t backend_index(std::string_view name) noexcept {
  return static_cast<std::size_t>(std::ranges::find(kBackends, name, &KnownBackend::name) -
                                  kBackends.begin());
}

}  // namespace salvo::runtime
