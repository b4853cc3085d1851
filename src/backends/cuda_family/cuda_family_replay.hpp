// Sequences of launches that come again, as graphs that one driver call starts.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "backends/cuda_family/cuda_family_error.hpp"
#include "backends/cuda_family/cuda_family_parameters.hpp"
#include "runtime/backend.hpp"
#include "runtime/dependencies.hpp"

namespace salvo::backends::cuda_family {

/// Sequences of one device, guarded by its issue lock like its launches. A sequence is known by its
/// kernels, shapes and dependencies; arguments may differ each time, and those of a node that
/// changed are set anew. In its graph a launch comes after those that it depends on, and the device
/// may run others beside it.
class Replay {
 public:
  explicit Replay(const Reporter& reporter) : reporter_(reporter) {}
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// Starts them all, or none and returns false: a sequence that is seen for the first time, or one
  /// that the driver makes no graph of. The context is current.
  bool launch(Stream stream, std::span<const runtime::LaunchCommand> commands);

 private:
  struct Node {
    std::uint64_t executable = 0;  // its serial: a handle may come again once a kernel is unloaded
    runtime::LaunchShape shape;
    GraphNode node = nullptr;
    std::vector<std::byte> block;  // of the arguments set last
  };
  struct Sequence {
    std::uint64_t hash = 0;
    std::vector<Node> nodes;
    std::vector<std::uintptr_t> buffers;  // bound last, one after the other
    runtime::Dependencies dependencies;   // with these
    Graph graph = nullptr;
    GraphExec executable = nullptr;
    bool refused = false;  // by the driver, once
  };

  Sequence* find(std::span<const runtime::LaunchCommand> commands);
  bool make(Sequence& sequence, std::span<const runtime::LaunchCommand> commands);
  bool update(Sequence& sequence, std::span<const runtime::LaunchCommand> commands);
  void destroy(Sequence& sequence) noexcept;

  const Reporter& reporter_;
  std::list<Sequence> sequences_;  // latest first
  std::vector<std::byte> scratch_;
  // Of the sequence that is launched.
  std::vector<std::uintptr_t> buffers_;
  std::vector<const ParameterBlock*> parameters_;  // by launch
};

}  // namespace salvo::backends::cuda_family
