// What code generators share about code of the program's own: intrinsics and native code (K11).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "ir/kernel.hpp"

namespace salvo::codegen {

/// What `node`, an intrinsic or native code, has to say in the language of `target`. Throws
/// Errc::unsupported, naming the kernel, the code and the line, where that is nothing.
std::string user_text(const ir::Kernel& kernel, const ir::Node& node, std::string_view target);

/// For targets that take none: throws the same for a kernel with such a node.
void refuse_user_code(const ir::Kernel& kernel, std::string_view target);

}  // namespace salvo::codegen
