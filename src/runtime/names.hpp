// Kernel names that stay, so that noting a launch copies a pointer.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace salvo::runtime {

/// The one string of the process with these characters. It is never freed: a name may be asked for
/// when its kernel is gone. Thread-safe.
const std::string& lasting_name(std::string_view name);

}  // namespace salvo::runtime
