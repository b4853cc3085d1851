// Log messages, beside results and errors: for a program that listens, and never printed.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string_view>

namespace salvo {

enum class LogLevel {
  note,     // how things are: a backend that is not there, and why
  warning,  // results stay right, but something costs time, memory or the disk cache
};
std::string_view name(LogLevel level) noexcept;

/// Told one message at a time, without a line break at its end. It is called on the thread that the
/// message comes from, on several at once if need be, while that thread holds no lock of Salvo's:
/// it may call Salvo. What it throws is dropped.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

/// Sets who listens, for all runtimes of the process, and returns who did before; an empty function
/// is nobody, as at first. Thread-safe. A message that is being told when this returns may still
/// reach the former sink. For what was found when the runtime was made, set it before its first
/// use.
LogSink set_log_sink(LogSink sink);

}  // namespace salvo
