// Epilogue fusion: whether an element-wise consumer may run at its producer's store, and the kernel
// in which it does.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fusion/store_sites.hpp"
#include "ir/kernel.hpp"
#include "salvo/window.hpp"

namespace salvo::fusion {

/// How the bytes of a producer's span lie to those of a consumer's, in one pair of launches.
enum class Aliasing : std::uint8_t {
  disjoint,  // none in common, or one of the two is a scalar
  same,      // same first byte and same scalar element type
  overlap,   // anything else
};

/// Why `kernel` can be nobody's consumer (W39), in words; empty if it can.
std::string_view consumer_refusal(const ir::Kernel& kernel);

/// What is known of a pair of kernels whose spans meet in a certain way, whatever the sizes.
struct EpilogueAnalysis {
  Reason refusal = Reason::none;
  std::string_view words;  // what exactly is in the way

  ir::Kernel producer;  // without returns; the sites name its nodes
  ir::Kernel consumer;
  std::vector<StoreSite> producer_sites;  // stores of the vector between the two
  std::vector<StoreSite> consumer_sites;
  std::vector<bool> consumer_memories;  // by memory of the consumer: lies on that vector
  ir::MemoryId vector = ir::kNone;      // the producer's memory that the sites store to
  bool consumer_writes_vector = false;
  /// Parameters that the proof depends on: their values are part of what a proof is of.
  std::vector<std::uint32_t> producer_parameters;
  std::vector<std::uint32_t> consumer_parameters;
};

/// Whether the pair may merge, sizes apart (W39, W45, W46). `aliasing` has a row for each parameter
/// of the producer, with an entry for each of the consumer's.
EpilogueAnalysis analyse_epilogue(const ir::Kernel& producer, const ir::Kernel& consumer,
                                  const std::vector<Aliasing>& aliasing);

/// The kernel that does the work of both (W40, W44, W45). Its parameters are the producer's, then
/// the consumer's, then an i32: the number of threads the consumer was launched with.
ir::Kernel merge_epilogue(const EpilogueAnalysis& pair);

}  // namespace salvo::fusion
