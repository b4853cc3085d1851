// Pairs of producer and consumer: whether they merge, proved once, and the kernels they become
// (W43).
// SPDX-License-Identifier: MIT
#include "window/epilogue_cache.hpp"

#include <utility>

#include "ir/hash.hpp"

namespace salvo::window {
namespace {

using fusion::Aliasing;
using fusion::Proof;

/// More than that many proofs of one pair are not kept, nor that many threads enumerated for it: a
/// pair whose index depends on a scalar that always changes would cost more than it saves.
constexpr std::size_t kMostProofs = 1024;
constexpr std::uint64_t kMostEnumerated = fusion::kMostEnumerated * 4;

/// How a span of the producer lies to one of the consumer.
Aliasing aliasing_of(const HeldLaunch& producer, const Access& a, const HeldLaunch& consumer,
                     const Access& b) {
  if (!a.copy || a.copy != b.copy || a.begin >= b.end || b.begin >= a.end)
    return Aliasing::disjoint;
  const auto element = [](const HeldLaunch& launch, const Access& access) -> const ir::Element& {
    const ir::Kernel& kernel = launch.kernel->kernel;
    return kernel.memories[kernel.parameters[access.parameter].memory].element;
  };
  const ir::Element& first = element(producer, a);
  const bool same =
      producer.arguments[a.parameter].byte_offset == consumer.arguments[b.parameter].byte_offset &&
      first.is_scalar() && first == element(consumer, b);
  return same ? Aliasing::same : Aliasing::overlap;
}

/// By parameter, elements of a span or bits of a scalar.
std::uint64_t value_of(const HeldLaunch& launch, std::size_t parameter) {
  const runtime::Argument& argument = launch.arguments[parameter];
  return launch.kernel->parameters[parameter].is_span ? argument.length : argument.bits;
}

std::vector<std::uint64_t> values_of(const HeldLaunch& launch) {
  std::vector<std::uint64_t> values;
  for (std::size_t p = 0; p < launch.arguments.size(); ++p) values.push_back(value_of(launch, p));
  return values;
}

std::uint64_t bits_of(std::span<const std::uint32_t> parameters) {
  std::uint64_t bits = 0;
  for (const std::uint32_t p : parameters) bits |= value_bit(p);
  return bits;
}

}  // namespace

std::size_t EpilogueCache::KeyHash::operator()(const Key& key) const noexcept {
  return ir::hash_bytes(key.data(), key.size() * sizeof(key[0])).low;
}

EpilogueCache::Pair& EpilogueCache::find_pair(const HeldLaunch& producer,
                                              const HeldLaunch& consumer) {
  // The form on the device, fused multiply-adds or not, is part of the pair.
  key_ = {producer.kernel->serial, consumer.kernel->serial, producer.prepared->digest.low,
          consumer.prepared->digest.low};
  constexpr std::size_t kMeetings = 4;  // where they begin in the key
  const std::size_t columns = consumer.arguments.size();
  for (const Access& produced : producer.accesses) {
    for (const Access& consumed : consumer.accesses) {
      const Aliasing how = aliasing_of(producer, produced, consumer, consumed);
      if (how == Aliasing::disjoint) continue;
      key_.push_back(produced.parameter * columns + consumed.parameter);
      key_.push_back(static_cast<std::uint64_t>(how));
    }
  }
  std::unique_ptr<Pair>& pair = pairs_[key_];
  if (!pair) {
    std::vector<Aliasing> aliasing(producer.arguments.size() * columns, Aliasing::disjoint);
    for (std::size_t k = kMeetings; k < key_.size(); k += 2) {
      aliasing[key_[k]] = static_cast<Aliasing>(key_[k + 1]);
    }
    auto made = std::make_unique<Pair>();
    made->analysis =
        fusion::analyse_epilogue(*producer.prepared->kernel, *consumer.prepared->kernel, aliasing);
    pair = std::move(made);
  }
  return *pair;
}

Proof EpilogueCache::prove(Pair& pair, const HeldLaunch& producer, const HeldLaunch& consumer) {
  const fusion::EpilogueAnalysis& known = pair.analysis;
  const std::vector<std::uint64_t> produced = values_of(producer), consumed = values_of(consumer);
  const fusion::LaunchedSites stores{
      known.producer, known.producer_sites, {producer.shape.grid, producer.shape.block, produced}};
  const fusion::LaunchedSites writes{
      known.consumer, known.consumer_sites, {consumer.shape.grid, consumer.shape.block, consumed}};
  const std::uint64_t length = produced[known.producer.memories[known.vector].parameter];
  const Proof closed = fusion::prove_closed(stores, writes, length);
  if (closed != Proof::unknown) return closed;
  const std::uint64_t threads = fusion::thread_count(stores.facts);
  if (pair.enumerated + threads > kMostEnumerated) return Proof::unknown;
  pair.enumerated += threads;
  return fusion::prove_by_enumeration(stores, writes, length);
}

EpilogueCache::Verdict EpilogueCache::judge(const HeldLaunch& producer,
                                            const HeldLaunch& consumer) {
  const std::lock_guard lock(lock_);
  Pair& pair = find_pair(producer, consumer);
  const fusion::EpilogueAnalysis& known = pair.analysis;
  if (known.refusal != Reason::none) return {known.refusal, known.words, nullptr};
  if (consumer.shape.grid[1] != 1 || consumer.shape.grid[2] != 1 || consumer.shape.block[1] != 1 ||
      consumer.shape.block[2] != 1) {
    return {Reason::not_element_wise, "it is launched in more than one dimension", nullptr};
  }
  if (pair.merged && pair.merged->failed) return {Reason::failed_before, "", nullptr};

  key_ = {producer.shape.grid[0],
          producer.shape.grid[1],
          producer.shape.grid[2],
          producer.shape.block[0],
          producer.shape.block[1],
          producer.shape.block[2],
          consumer.shape.grid[0],
          consumer.shape.block[0],
          value_of(producer, known.producer.memories[known.vector].parameter)};
  for (std::uint32_t p : known.producer_parameters) key_.push_back(value_of(producer, p));
  for (std::uint32_t c : known.consumer_parameters) key_.push_back(value_of(consumer, c));
  auto proof = pair.proofs.find(key_);
  if (proof == pair.proofs.end()) {
    if (pair.proofs.size() >= kMostProofs) pair.proofs.clear();
    proof = pair.proofs.emplace(key_, prove(pair, producer, consumer)).first;
  }
  const std::uint64_t produced = bits_of(known.producer_parameters);
  const std::uint64_t consumed = bits_of(known.consumer_parameters);
  if (proof->second != Proof::proved) {
    return {Reason::unproved,
            proof->second == Proof::refuted
                ? "it stores an element twice, or not all that the consumer writes"
                : "",
            nullptr, produced, consumed};
  }
  if (!pair.merged) {
    pair.merged = std::make_shared<KernelRecord>(fusion::merge_epilogue(known), *producer.kernel,
                                                 *consumer.kernel);
  }
  return {Reason::none, "", pair.merged, produced, consumed};
}

void EpilogueCache::clear() {
  const std::lock_guard lock(lock_);
  pairs_.clear();
}

}  // namespace salvo::window
