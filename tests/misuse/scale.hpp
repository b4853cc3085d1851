// The correct kernel that the wrong launches share.
// SPDX-License-Identifier: MIT
#pragma once

#include <salvo/salvo.hpp>

inline auto scale_kernel() {
  return salvo::kernel("scale", [](salvo::Span<float> x, salvo::Float factor, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = x[i] * factor; });
  });
}
