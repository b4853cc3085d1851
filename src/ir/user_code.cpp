// Code that a program brings for an operation of its own, in the languages of backends (K11).
// SPDX-License-Identifier: MIT
#include "ir/user_code.hpp"

#include <atomic>
#include <charconv>
#include <utility>

namespace salvo::ir {
namespace {

std::uint64_t next_serial() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

UserCode::UserCode(std::string name, Convergence convergence, bool pure)
    : name_(std::move(name)), convergence_(convergence), pure_(pure), serial_(next_serial()) {}

void UserCode::define(std::string backend, std::string text) {
  const std::lock_guard lock(lock_);
  texts_.insert_or_assign(std::move(backend), std::move(text));
}

void UserCode::define_host(HostBody body) {
  const std::lock_guard lock(lock_);
  host_ = std::move(body);
}

std::optional<std::string> UserCode::text(std::string_view backend) const {
  const std::lock_guard lock(lock_);
  const auto found = texts_.find(backend);
  return found == texts_.end() ? std::nullopt : std::optional(found->second);
}

HostBody UserCode::host() const {
  const std::lock_guard lock(lock_);
  return host_;
}

bool UserCode::runs_on(std::string_view backend) const {
  return backend == "Interpreter" ? host() != nullptr : text(backend).has_value();
}

std::string fill_template(std::string_view text, std::span<const std::string> arguments,
                          std::string_view result) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    filled += text.substr(0, open);
    if (open == std::string_view::npos) break;
    text.remove_prefix(open);
    const std::size_t close = text.find('}');
    const std::string_view inside =
        close == std::string_view::npos ? "" : text.substr(1, close - 1);
    std::size_t index = 0;
    const auto [end, failed] = std::from_chars(inside.data(), inside.data() + inside.size(), index);
    const bool is_index = failed == std::errc{} && end == inside.data() + inside.size();
    if (inside == "result") {
      filled += result;
    } else if (is_index && index < arguments.size()) {
      filled += arguments[index];
    } else {
      filled += '{';
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(close + 1);
  }
  return filled;
}

}  // namespace salvo::ir
