// The one exception family: its shared state and the sentence `what()` gives.
// SPDX-License-Identifier: MIT
#include "salvo/error.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace salvo {
namespace {

/// One line with all the context there is; the compile log follows on lines of its own.
std::string sentence(const Error::Details& details) {
  std::string text;
  if (!details.backend.empty()) text += details.backend + ": ";
  if (!details.operation.empty()) text += details.operation + ": ";
  if (!details.kernel.empty()) text += fmt::format("kernel '{}': ", details.kernel);
  text += details.message;
  if (details.source.known())
    text += fmt::format(" at {}:{}", details.source.file, details.source.line);
  if (details.launch.known()) {
    text += fmt::format(" (launched at {}:{})", details.launch.file, details.launch.line);
  }
  if (!details.log.empty()) text += "\n" + details.log;
  return text;
}

}  // namespace

std::string_view name(Errc code) noexcept {
  constexpr std::array<std::string_view, 13> kNames{"invalid_argument",
                                                    "invalid_kernel",
                                                    "unsupported",
                                                    "no_device",
                                                    "backend_unavailable",
                                                    "compile_failed",
                                                    "launch_failed",
                                                    "out_of_memory",
                                                    "transfer_failed",
                                                    "device_lost",
                                                    "check_failed",
                                                    "bad_environment",
                                                    "io"};
  return kNames[static_cast<std::size_t>(code)];
}

struct Error::State {
  Details details;
  std::vector<Error> others;
};

Error::Error(Details details)
    : runtime_error(sentence(details)),
      state_(std::make_shared<const State>(State{std::move(details), {}})) {}

Error::Error(Errc code, std::string message)
    : Error([&] {
        Details details;
        details.code = code;
        details.message = std::move(message);
        return details;
      }()) {}

Error::Error(std::shared_ptr<const State> state)
    : runtime_error(sentence(state->details)), state_(std::move(state)) {}

Error::~Error() = default;

Errc Error::code() const noexcept {
  return state_->details.code;
}
const std::string& Error::message() const noexcept {
  return state_->details.message;
}
const std::string& Error::backend() const noexcept {
  return state_->details.backend;
}
const std::string& Error::operation() const noexcept {
  return state_->details.operation;
}
const std::string& Error::kernel() const noexcept {
  return state_->details.kernel;
}
const SourceLocation& Error::launch_location() const noexcept {
  return state_->details.launch;
}
const SourceLocation& Error::kernel_location() const noexcept {
  return state_->details.source;
}
const std::string& Error::log() const noexcept {
  return state_->details.log;
}
const Error::Details& Error::details() const noexcept {
  return state_->details;
}
const std::vector<Error>& Error::others() const noexcept {
  return state_->others;
}

Error Error::with_others(std::vector<Error> others) const {
  return Error(std::make_shared<const State>(State{state_->details, std::move(others)}));
}

}  // namespace salvo
