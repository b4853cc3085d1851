// Pairs of producer and consumer: whether they merge, proved once, and the kernels they become
// (W43).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fusion/epilogue.hpp"
#include "fusion/epilogue_proof.hpp"
#include "salvo/window.hpp"
#include "window/held_launch.hpp"

namespace salvo::window {

/// Thread-safe. What is cached depends on kernels, their form on the device and how their spans
/// meet; a proof on dims, scalars and lengths too. Nothing of it depends on addresses.
class EpilogueCache {
 public:
  struct Verdict {
    Reason reason = Reason::none;
    std::string_view words;                // of the refusal, may be empty
    std::shared_ptr<KernelRecord> merged;  // if Reason::none
    /// Parameters, as bits, whose values this rests on; the last bit stands for all beyond.
    std::uint64_t producer_values = 0, consumer_values = 0;
  };
  /// Whether `consumer` may run at the stores of `producer`, which it conflicts with. Both are
  /// captured.
  Verdict judge(const HeldLaunch& producer, const HeldLaunch& consumer);
  void clear();

 private:
  using Key = std::vector<std::uint64_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  struct Pair {
    fusion::EpilogueAnalysis analysis;
    std::shared_ptr<KernelRecord> merged;
    std::unordered_map<Key, fusion::Proof, KeyHash> proofs;
    std::uint64_t enumerated = 0;  // threads, over all proofs
  };

  Pair& find_pair(const HeldLaunch& producer, const HeldLaunch& consumer);
  static fusion::Proof prove(Pair& pair, const HeldLaunch& producer, const HeldLaunch& consumer);

  std::mutex lock_;
  std::unordered_map<Key, std::unique_ptr<Pair>, KeyHash> pairs_;
  Key key_;  // scratch
};

}  // namespace salvo::window
