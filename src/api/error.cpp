// The one exception family: what failed, where it was asked for, and what failed beside it.
// SPDX-License-Identifier: MIT
#include "salvo/error.hpp"

#include <utility>

namespace salvo {
namespace {

/// The sentence `what` returns: message first, then where it happened.
std::string sentence(const Error::Details& details) {
  std::string text;
  if (!details.backend.empty()) text += details.backend + ": ";
  if (!details.operation.empty()) text += details.operation + ": ";
  text += details.message;
  if (!details.kernel.empty()) text += " (kernel '" + details.kernel + "'";
  const auto place = [&](std::string_view what, const SourceLocation& where) {
    if (!where.known()) return;
    text += details.kernel.empty() ? " (" : ", ";
    text += what;
    text += " " + where.file + ":" + std::to_string(where.line);
    if (details.kernel.empty()) text += ")";
  };
  place("at", details.source);
  place("launched at", details.launch);
  if (!details.kernel.empty()) text += ")";
  return text;
}

}  // namespace

struct Error::State {
  Details details;
  std::string text;
  std::vector<Error> others;
};

std::string_view name(Errc code) noexcept {
  switch (code) {
    case Errc::invalid_argument: return "invalid_argument";
    case Errc::invalid_kernel: return "invalid_kernel";
    case Errc::unsupported: return "unsupported";
    case Errc::no_device: return "no_device";
    case Errc::backend_unavailable: return "backend_unavailable";
    case Errc::compile_failed: return "compile_failed";
    case Errc::launch_failed: return "launch_failed";
    case Errc::out_of_memory: return "out_of_memory";
    case Errc::transfer_failed: return "transfer_failed";
    case Errc::device_lost: return "device_lost";
    case Errc::check_failed: return "check_failed";
    case Errc::bad_environment: return "bad_environment";
    case Errc::io: return "io";
  }
  return "unknown";
}

Error::Error(std::shared_ptr<const State> state)
    : std::runtime_error(state->text), state_(std::move(state)) {}

Error::Error(Details details)
    : Error([&details] {
        std::string text = sentence(details);
        return std::make_shared<const State>(State{std::move(details), std::move(text), {}});
      }()) {}

Error::Error(Errc code, std::string message)
    : Error(Details{.code = code, .message = std::move(message)}) {}

Errc Error::code() const noexcept { return state_->details.code; }
const std::string& Error::message() const noexcept { return state_->details.message; }
const std::string& Error::backend() const noexcept { return state_->details.backend; }
const std::string& Error::operation() const noexcept { return state_->details.operation; }
const std::string& Error::kernel() const noexcept { return state_->details.kernel; }
const SourceLocation& Error::launch_location() const noexcept { return state_->details.launch; }
const SourceLocation& Error::kernel_location() const noexcept { return state_->details.source; }
const std::string& Error::log() const noexcept { return state_->details.log; }
const Error::Details& Error::details() const noexcept { return state_->details; }
const std::vector<Error>& Error::others() const noexcept { return state_->others; }

Error Error::with_others(std::vector<Error> others) const {
  return Error(std::make_shared<const State>(
      State{state_->details, state_->text, std::move(others)}));
}

}  // namespace salvo
