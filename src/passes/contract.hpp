// Decides once which multiplies and adds are fused, so that every device computes the same (W50).
// SPDX-License-Identifier: MIT
#pragma once

#include "ir/kernel.hpp"

namespace salvo::passes {

/// The same kernel with repeated expressions merged and fused multiply-adds formed, one decision per
/// product, in an order that depends on the kernel alone:
///
/// Products are taken by number of uses, then by position. One is fused if all its uses, through
/// negations too, are additions and subtractions in its own block that nothing has claimed yet, and
/// none adds it to itself. Then each use becomes an Fma and the product disappears; a product that
/// anything else needs stays, and so do its sums. There are never more operations than before,
/// negations apart, which are signs of an operand on every target. Division by a power of two counts
/// as multiplication by its inverse: the result has the same bits.
///
/// Runs before any fusion of kernels: what is stored in memory is not looked through, so a pair of
/// kernels holds the same operations fused and apart.
ir::Kernel contract(const ir::Kernel& kernel);

}  // namespace salvo::passes
