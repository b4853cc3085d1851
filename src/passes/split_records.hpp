// Takes spans of records apart into a span for each leaf (K13).
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "ir/kernel.hpp"

namespace salvo::passes {

/// The same kernel, where each span parameter that `split` marks is replaced, in its place, by one
/// span for each leaf of its element, in the order of the leaves. Throws Errc::unsupported if
/// native code takes such a span: it was written for records.
ir::Kernel split_records(const ir::Kernel& kernel, const std::vector<bool>& split);

}  // namespace salvo::passes
