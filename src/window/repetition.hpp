// A window as it was recorded, so that one that repeats it is held without analysis (W79).
// SPDX-License-Identifier: MIT
//
// Which launches conflict, which groups they form and what merges with what follows from the
// kernels, dims, spans and lengths of a window's launches, from the values that proofs rest on, and
// from switches and grants. While a window starts empty and its launches are those of an earlier
// one in all of that, they are put where their predecessors were: only other scalars are new. The
// first launch that differs, or work that is issued early, ends this; what was held until then is
// placed as if it had come in the usual way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "salvo/detail/storage.hpp"
#include "salvo/dims.hpp"
#include "window/held_launch.hpp"

namespace salvo::window {

/// One launch call of a recorded window. What is read when it comes again lies in few cache lines:
/// in a program that does other things between its windows, each is a miss.
struct alignas(64) Step {
  // As it was held:
  std::uint64_t kernel_serial = 0;
  std::uint32_t issued_before = 0;           // groups of the window issued to make room
  Reason refused_epilogue = Reason::none;    // why it did not merge with what it reads from
  Reason refused_horizontal = Reason::none;  // why it joined no group
  bool batched = false;                      // within window::Batch: no room was made for it
  // Filled in when the window has ended:
  bool opens_group = false;
  std::uint32_t group = 0;
  std::uint32_t first_binding = 0;
  std::uint32_t bindings = 0;
  std::uint32_t base = 0;  // of its arguments in those of `merged`
  const KernelRecord* kernel = nullptr;
  Prepared* prepared = nullptr;
  HeldLaunch* launch = nullptr;  // in its group, or part of a merged launch there
  HeldLaunch* merged = nullptr;  // that one
  Prepared* merged_prepared = nullptr;
  std::uint64_t fixed_values = 0;  // HeldLaunch::fixed_values
  Dims dims;
};

/// A declared parameter as it was bound.
struct Binding {
  const runtime::Storage* storage = nullptr;  // span; null for an empty vector
  runtime::DeviceCopy* copy = nullptr;
  std::uint64_t copy_serial = 0;
  std::uint64_t byte_offset = 0;
  std::uint64_t length_or_bits = 0;  // of a scalar its bits, as they were last
  bool is_span = false;
  bool writes = false;
  bool overwritten = false;
};

/// The steps of a window and the groups they made, which it keeps while they are not held. Guarded
/// by the device's window lock.
class Repetition {
 public:
  /// Of a window that has ended: its steps and the groups that it became, in order. Those of `rest`
  /// are out. Null if the two do not belong together.
  static std::unique_ptr<Repetition> of(std::vector<Step> steps,
                                        std::vector<std::unique_ptr<Group>> first,
                                        std::span<const std::unique_ptr<Group>> rest);

  /// Whether a call is the next step, and its vectors are current on the device. Reads scalars that
  /// are live in the program. When the window is complete, the next step is the first.
  bool matches(const KernelRecord& kernel, const Dims& dims,
               std::span<const detail::CallArgument> arguments, const runtime::DeviceState& device,
               bool batched) const noexcept;
  /// The step of a call that matches is held: takes its scalars over, and marks what it binds as
  /// bound by its group.
  void take(const Dims& dims, std::span<const detail::CallArgument> arguments) noexcept;

  /// Whether a window that goes on as it began is ended there and begins again: groups of it were
  /// issued to make room, or it is so long that merging across its end is worth less than holding
  /// the rest without analysis.
  bool rolls() const noexcept { return steps_.back().issued_before > 0 || steps_.size() >= kLong; }
  std::size_t launches() const noexcept { return steps_.size(); }
  bool is_complete() const noexcept { return next_ == steps_.size(); }
  const Step& step() const noexcept { return steps_[next_]; }
  /// Groups of the window that is held now: opened, and of them issued.
  std::uint32_t opened() const noexcept { return opened_; }
  std::uint32_t issued() const noexcept { return issued_; }
  std::uint64_t held_launches() const noexcept;

  Group& group(std::uint32_t index) noexcept { return *groups_[index]; }
  /// Moves the oldest group that is held out, to be issued, or all of them.
  void detach_oldest(std::vector<std::unique_ptr<Group>>& to);
  void detach_all(std::vector<std::unique_ptr<Group>>& to);
  /// A group has been issued and comes back.
  void put_back(std::unique_ptr<Group> group) noexcept;
  /// Whether groups of it are out.
  bool is_out() const noexcept { return out_ > 0; }
  /// No window repeats it any more; it goes away when its groups are back.
  void abandon() noexcept { abandoned_ = true; }
  bool abandoned() const noexcept { return abandoned_; }

  /// Takes it apart: the launches held now, in the order they were made.
  std::vector<std::unique_ptr<HeldLaunch>> take_apart();

 private:
  static constexpr std::size_t kLong = 64;  // launches

  std::vector<Step> steps_;
  std::vector<Binding> bindings_;  // of all steps
  std::vector<std::unique_ptr<Group>> groups_;
  std::size_t next_ = 0;
  std::uint32_t opened_ = 0, issued_ = 0, out_ = 0;
  bool abandoned_ = false;
};

}  // namespace salvo::window
