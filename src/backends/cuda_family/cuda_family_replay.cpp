// Sequences of launches that come again, as graphs that one driver call starts.
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_replay.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "backends/cuda_family/cuda_family_device.hpp"

namespace salvo::backends::cuda_family {
namespace {

/// Graphs are kept for so many sequences; the one that was not used for longest goes first.
constexpr std::size_t kMostSequences = 16;

FamilyExecutable& code_of(const runtime::LaunchCommand& command) {
  return static_cast<FamilyExecutable&>(*command.executable);
}

bool same_shape(const runtime::LaunchShape& a, const runtime::LaunchShape& b) noexcept {
  return a.grid == b.grid && a.block == b.block && a.dynamic_shared_bytes == b.dynamic_shared_bytes;
}

std::uint64_t hash_of(std::span<const runtime::LaunchCommand> commands) noexcept {
  std::uint64_t hash = commands.size();
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL; };
  for (const runtime::LaunchCommand& command : commands) {
    mix(code_of(command).serial);
    mix(std::uint64_t{command.shape->grid[0]} << 32 | command.shape->block[0]);
  }
  return hash;
}

void list_buffers(std::span<const runtime::LaunchCommand> commands,
                  std::vector<std::uintptr_t>& buffers) {
  buffers.clear();
  for (const runtime::LaunchCommand& command : commands) {
    for (const runtime::Argument& argument : command.arguments) {
      if (argument.buffer && argument.access != runtime::AccessMode::none)
        buffers.push_back(argument.buffer.handle);
    }
  }
}

/// What the driver is told of a launch. `block` holds its arguments.
struct Description {
  Description(const runtime::LaunchCommand& command, ParameterBlock::Filled filled,
              std::vector<std::byte>& block)
      : bytes(block.size()),
        extra{reinterpret_cast<void*>(std::uintptr_t{1}), block.data(),
              reinterpret_cast<void*>(std::uintptr_t{2}), &bytes, nullptr} {
    parameters.function = code_of(command).kernel(filled == ParameterBlock::Filled::aligned);
    std::ranges::copy(command.shape->grid, parameters.grid);
    std::ranges::copy(command.shape->block, parameters.block);
    parameters.shared_bytes = command.shape->dynamic_shared_bytes;
    parameters.extra = extra.data();
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  std::size_t bytes;
  std::array<void*, 5> extra;
  KernelNodeParameters parameters;
};

}  // namespace

Replay::~Replay() {
  for (Sequence& sequence : sequences_) destroy(sequence);
}

void Replay::destroy(Sequence& sequence) noexcept {
  if (sequence.executable) reporter_.api().GraphExecDestroy(sequence.executable);
  if (sequence.graph) reporter_.api().GraphDestroy(sequence.graph);
  sequence.executable = nullptr;
  sequence.graph = nullptr;
}

Replay::Sequence* Replay::find(std::span<const runtime::LaunchCommand> commands) {
  const std::uint64_t hash = hash_of(commands);
  list_buffers(commands, buffers_);
  std::optional<runtime::Dependencies> dependencies;  // where they are not known from before
  for (auto one = sequences_.begin(); one != sequences_.end(); ++one) {
    if (one->hash != hash || one->nodes.size() != commands.size()) continue;
    const bool same = std::ranges::equal(
        one->nodes, commands, [](const Node& node, const runtime::LaunchCommand& command) {
          return node.executable == code_of(command).serial &&
                 same_shape(node.shape, *command.shape);
        });
    if (!same) continue;
    if (one->buffers != buffers_) {
      if (!dependencies) dependencies.emplace(commands);
      if (one->dependencies != *dependencies) continue;
      one->buffers = buffers_;
    }
    sequences_.splice(sequences_.begin(), sequences_, one);
    return &sequences_.front();
  }
  if (sequences_.size() >= kMostSequences) {
    destroy(sequences_.back());
    sequences_.pop_back();
  }
  Sequence& made = sequences_.emplace_front();
  made.hash = hash;
  for (const runtime::LaunchCommand& command : commands) {
    made.nodes.push_back({code_of(command).serial, *command.shape, nullptr, {}});
  }
  made.buffers = buffers_;
  made.dependencies = dependencies ? std::move(*dependencies) : runtime::Dependencies(commands);
  return nullptr;  // once is no repetition
}

bool Replay::make(Sequence& sequence, std::span<const runtime::LaunchCommand> commands) {
  const Api& api = reporter_.api();
  if (api.GraphCreate(&sequence.graph, 0) != kSuccess) return false;
  std::vector<GraphNode> before;
  for (std::size_t k = 0; k < commands.size(); ++k) {
    Node& node = sequence.nodes[k];
    node.block.assign(parameters_[k]->bytes(), std::byte{0});
    const auto filled = parameters_[k]->fill(commands[k].arguments, node.block.data());
    if (filled == ParameterBlock::Filled::refused) return false;
    before.clear();
    for (const std::uint32_t earlier : sequence.dependencies.of(k)) {
      before.push_back(sequence.nodes[earlier].node);
    }
    const Description description(commands[k], filled, node.block);
    if (api.GraphAddKernel(&node.node, sequence.graph, before.data(), before.size(),
                           &description.parameters) != kSuccess) {
      return false;
    }
  }
  return api.GraphInstantiate(&sequence.executable, sequence.graph, 0) == kSuccess;
}

bool Replay::update(Sequence& sequence, std::span<const runtime::LaunchCommand> commands) {
  for (std::size_t k = 0; k < commands.size(); ++k) {
    Node& node = sequence.nodes[k];
    scratch_ = node.block;
    const auto filled = parameters_[k]->fill(commands[k].arguments, scratch_.data());
    if (filled == ParameterBlock::Filled::refused) return false;
    if (scratch_ == node.block) continue;
    node.block.swap(scratch_);
    const Description description(commands[k], filled, node.block);
    if (reporter_.api().GraphSetKernel(sequence.executable, node.node, &description.parameters) !=
        kSuccess) {
      return false;
    }
  }
  return true;
}

bool Replay::launch(Stream stream, std::span<const runtime::LaunchCommand> commands) {
  const Api& api = reporter_.api();
  if (!api.GraphInstantiate) return false;
  parameters_.clear();
  for (const runtime::LaunchCommand& command : commands) {
    const std::optional<ParameterBlock>& parameters = code_of(command).parameters;
    if (!parameters) return false;
    parameters_.push_back(&*parameters);
  }
  Sequence* const sequence = find(commands);
  if (!sequence || sequence->refused) return false;
  const bool ready = sequence->executable ? update(*sequence, commands) : make(*sequence, commands);
  if (ready && api.GraphLaunch(sequence->executable, stream) == kSuccess) return true;
  // The launches are made one by one, where a failure is told with its kernel.
  destroy(*sequence);
  sequence->refused = true;
  return false;
}

}  // namespace salvo::backends::cuda_family
