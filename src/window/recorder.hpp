// Writes down how the launches of a window were placed, once its beginning has been seen before.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "salvo/dims.hpp"
#include "salvo/window.hpp"
#include "window/held_launch.hpp"
#include "window/repetition.hpp"

namespace salvo::window {

/// Of one device, guarded by its window lock. A window goes from one observation to the next; one
/// that begins as none before it costs a program that never repeats itself no more than a hash.
class Recorder {
 public:
  /// Makes room for one step, so that adding it throws nothing.
  void reserve();
  /// The step that is added next.
  std::uint32_t next() const noexcept { return static_cast<std::uint32_t>(steps_.size()); }
  /// A launch is about to be placed; it may be a window's first. True if it was this one's first
  /// too, and enough was issued to make room since: a program that never observes the device has no
  /// other end of a window, and little is lost by issuing the rest now.
  bool meet(const HeldLaunch& launch) noexcept;
  /// The launch that was met is placed.
  void add(std::uint64_t kernel_serial, const Dims& dims, Reason refused_epilogue,
           Reason refused_horizontal, bool batched) noexcept;
  /// A group has been taken out to make room; true if it is to be given to `keep` once issued.
  bool note_issued() noexcept;
  bool is_on() const noexcept { return on_; }
  void keep(std::unique_ptr<Group> group) { issued_.push_back(std::move(group)); }
  /// This window is not written down; groups kept for it are handed out.
  std::vector<std::unique_ptr<Group>> give_up() noexcept;
  /// The same, because a window did not repeat one that began as it did: the next few are not
  /// written down either, and more of them each time.
  std::vector<std::unique_ptr<Group>> discourage() noexcept;
  /// A window did repeat another.
  void encourage() noexcept { pause_ = 0; }

  /// The window has ended; true if all of it was written down.
  bool end() noexcept;
  std::vector<Step> take_steps() noexcept { return std::exchange(steps_, {}); }
  std::vector<std::unique_ptr<Group>> take_issued() noexcept { return std::exchange(issued_, {}); }

 private:
  bool begins_as_before() noexcept;

  std::vector<Step> steps_;
  std::vector<std::unique_ptr<Group>> issued_;  // the window's first groups
  std::uint32_t issued_count_ = 0;
  bool open_ = false;  // a window has begun
  bool on_ = false;    // and is being written down
  std::uint64_t first_kernel_ = 0, first_ = 0;
  std::array<std::uint64_t, 8> firsts_{};  // of windows that came before
  std::size_t oldest_ = 0;
  std::uint32_t pause_ = 0, paused_ = 0;  // windows to leave out, and left out so far
};

}  // namespace salvo::window
