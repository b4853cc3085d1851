// The public window: setters that flush first, counts, decisions.
// SPDX-License-Identifier: MIT
#include "salvo/window.hpp"

#include <fmt/format.h>

#include "api/access.hpp"
#include "salvo/error.hpp"
#include "salvo/runtime.hpp"

namespace salvo {

using api::flush_then;
void Window::set_enabled(bool on) {
  auto& launches = api::window_of(*core_);
  flush_then(launches, [&] { launches.settings().set_enabled(on); });
}

void Window::set_backend_enabled(std::string_view backend, bool on) {
  runtime::check_backend_name(backend);
  auto& launches = api::window_of(*core_);
  flush_then(launches, [&] { launches.settings().set_backend(backend, on); });
}

void Window::set_cpu_devices(bool on) {
  auto& launches = api::window_of(*core_);
  flush_then(launches, [&] { launches.settings().set_cpu_devices(on); });
}

void Window::set_epilogue_enabled(bool on) {
  auto& launches = api::window_of(*core_);
  flush_then(launches, [&] { launches.settings().set_epilogue(on); });
}

void Window::set_epilogue_backend(std::string_view backend, bool on) {
  runtime::check_backend_name(backend);
  auto& launches = api::window_of(*core_);
  flush_then(launches, [&] { launches.settings().set_epilogue_backend(backend, on); });
}

void Window::set_planner(Planner planner) {
  auto& launches = api::window_of(*core_);
  flush_then(launches, [&] { launches.settings().set_planner(planner); });
}

void Window::set_limits(std::uint32_t groups, std::uint32_t members) {
  constexpr std::uint32_t kMost = 4096;
  if (groups < 1 || groups > kMost || members < 1 || members > kMost) {
    throw Error(Errc::invalid_argument,
                fmt::format("set_limits({}, {}): both go from 1 to {}", groups, members, kMost));
  }
  auto& launches = api::window_of(*core_);
  flush_then(launches, [&] { launches.settings().set_limits(groups, members); });
}

void Window::set_background_compile(bool on) {
  auto& launches = api::window_of(*core_);
  flush_then(launches, [&] { launches.settings().set_background_compile(on); });
}

bool Window::defers(std::string_view backend) const {
  runtime::check_backend_name(backend);
  return api::window_of(*core_).settings().defers(backend);
}

bool Window::epilogue_on(std::string_view backend) const {
  runtime::check_backend_name(backend);
  return api::window_of(*core_).settings().epilogue_on(backend);
}

void Window::flush() {
  api::window_of(*core_).flush();
}

void Window::clear_fused_cache() {
  auto& launches = api::window_of(*core_);
  flush_then(launches, [&] { launches.clear_fused_cache(); });
}

WindowStats Window::stats() const {
  auto& launches = api::window_of(*core_);
  const window::Counters& counters = launches.counters();
  WindowStats stats;
  stats.submitted = counters.submitted;
  stats.issued = counters.issued;
  stats.held = launches.held_count();
  stats.failed = counters.failed;
  stats.fused_groups = counters.fused_groups;
  stats.epilogue_merges = counters.epilogue_merges;
  stats.fallbacks = counters.fallbacks;
  stats.replays = counters.replays;
  stats.repeated = counters.repeated;
  stats.fused_cache_hits = counters.cache_hits;
  stats.fused_cache_misses = counters.cache_misses;
  for (const auto& device : core_->devices()) {
    const runtime::FirstLaunchCounts& first = device->first_launch_counts();
    stats.capability_checks += first.capability_checks;
    stats.sources_generated += first.sources_generated;
    stats.compile_cache_keys += first.compile_cache_keys;
  }
  for (std::size_t i = 0; i < counters.refusals.size(); ++i) {
    const std::uint64_t again = launches.ran_again(i);
    stats.submitted += again;
    stats.issued += again;
    const std::uint64_t count = counters.refusals[i] + again;
    if (count > 0) stats.refusals[static_cast<Reason>(i)] = count;
  }
  return stats;
}

void Window::reset_stats() {
  api::window_of(*core_).reset_counts();
  for (const auto& device : core_->devices()) device->first_launch_counts().reset();
}

std::vector<Decision> Window::decisions() const {
  return api::window_of(*core_).explain().kept();
}
void Window::keep_decisions(std::size_t most) {
  api::window_of(*core_).explain().keep(most);
}

namespace window {
Window& current() {
  return Runtime::instance().window();
}
}  // namespace window

}  // namespace salvo
