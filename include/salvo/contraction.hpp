// Whether multiplies and adds of a kernel are fused, and who decides (W50).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace salvo {

enum class Contraction : std::uint8_t {
  fixed,   // Salvo forms fused multiply-adds itself, before anything else: the same bits everywhere
  off,     // none but those that the kernel asks for by name
  device,  // the device's compiler may contract as it likes; on HIP and Metal the same as `off`
};

}  // namespace salvo
