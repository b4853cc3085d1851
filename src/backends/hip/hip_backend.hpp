// The HIP backend: HIP C++ compiled by hiprtc, for AMD GPUs.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "runtime/backend.hpp"

namespace salvo::backends::hip {

inline constexpr std::string_view kName = "HIP";

std::unique_ptr<runtime::Backend> make_backend();

}  // namespace salvo::backends::hip
