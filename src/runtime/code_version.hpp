// Which Salvo this is, to the last changed line of its sources.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace salvo::runtime {

/// Release number and a digest of the library's sources; written at build time by
/// cmake/CodeVersion.cmake. What one Salvo compiled is never loaded by another.
std::string_view code_version() noexcept;

}  // namespace salvo::runtime
