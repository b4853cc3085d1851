// Tells what the window did and why: as lines on stderr, and as data (W69).
// SPDX-License-Identifier: MIT
#include "window/explain.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace salvo::window {
namespace {

std::string_view kind_name(Decision::Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"window", "horizontal", "epilogue"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// What a decision is called on the timeline.
std::string_view trace_name(const Decision& decision) {
  constexpr std::array<std::array<std::string_view, 2>, 3> kNames{
      {{"not held", "hold"}, {"not joined", "join"}, {"not merged", "merge"}}};
  return kNames[static_cast<std::size_t>(decision.kind)][decision.applied ? 1 : 0];
}

}  // namespace

std::string Explain::text(const Decision& decision) {
  // Epilogue lines name the backend alone (W69).
  std::string place = decision.device;
  if (decision.kind == Decision::Kind::epilogue) place = place.substr(0, place.rfind(':'));
  std::string line =
      fmt::format("salvo-explain {} {} {} ", decision.kernels, place, kind_name(decision.kind));
  if (decision.applied) {
    line += decision.detail.empty() ? "applied exact" : "applied " + decision.detail;
  } else {
    line += fmt::format("refused {}", describe(decision.reason));
    if (!decision.detail.empty()) line += ": " + decision.detail;
  }
  return line;
}

std::string Explain::json(const Decision& decision) {
  nlohmann::json line{{"kind", kind_name(decision.kind)}, {"applied", decision.applied},
                      {"reason", name(decision.reason)},  {"words", describe(decision.reason)},
                      {"kernels", decision.kernels},      {"device", decision.device},
                      {"detail", decision.detail}};
  const auto add = [&](const char* key, const SourceLocation& place) {
    if (place.known()) line[key] = fmt::format("{}:{}", place.file, place.line);
  };
  add("launch", decision.launch);
  add("earlier", decision.earlier);
  return line.dump();
}

void Explain::say(Decision decision) {
  if (trace_) {
    trace_->instant({.what = trace_name(decision),
                     .kernel = decision.kernels,
                     .device = decision.device,
                     .words = decision.applied ? "" : name(decision.reason)});
  }
  const std::lock_guard lock(lock_);
  if (format_ != runtime::ExplainFormat::off) {
    const std::string line =
        format_ == runtime::ExplainFormat::json ? json(decision) : text(decision);
    if (said_.insert(line).second) std::fputs((line + "\n").c_str(), stderr);
  }
  if (most_kept_ > 0) {
    if (kept_.size() == most_kept_) kept_.pop_front();
    kept_.push_back(std::move(decision));
  }
}

void Explain::keep(std::size_t most) {
  const std::lock_guard lock(lock_);
  most_kept_ = most;
  while (kept_.size() > most) kept_.pop_front();
  update();
}

std::vector<Decision> Explain::kept() const {
  const std::lock_guard lock(lock_);
  return {kept_.begin(), kept_.end()};
}

}  // namespace salvo::window
