// What the window did with each launch: which were held, which became one, which did not, and why.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iostream>
#include <salvo/salvo.hpp>
#include <string>

namespace {

using Kernel = salvo::Kernel<salvo::Span<const float>, salvo::Span<float>, salvo::Int>;

/// A device whose launches are held, if there is one.
salvo::Device choose() {
  salvo::window::set_cpu_devices(true);  // launches on CPU devices run at once by default
  const auto all = salvo::Device::all();
  const auto held = std::ranges::find_if(
      all, [](const salvo::Device& device) { return salvo::window::defers(device.backend()); });
  return held == all.end() ? salvo::Device::best() : *held;
}

void print(const salvo::Decision& decision) {
  static constexpr const char* kKinds[] = {"hold", "join", "merge"};
  std::cout << "  " << decision.kernels << ", " << kKinds[static_cast<int>(decision.kind)] << ": "
            << (decision.applied ? "yes" : "no");
  if (!decision.applied) std::cout << ", because " << describe(decision.reason);
  std::cout << " (line " << decision.launch.line << ")\n";
}

}  // namespace

int main() {
  const Kernel twice =
      salvo::kernel("twice", [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
        salvo::for_each_thread(n, [&](salvo::Int i) { y[i] = x[i] * 2.0f; });
      });
  const Kernel add_one =
      salvo::kernel("add_one", [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
        salvo::for_each_thread(n, [&](salvo::Int i) { y[i] = x[i] + 1.0f; });
      });
  const Kernel slope =
      salvo::kernel("slope", [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
        salvo::for_each_thread(n - 1, [&](salvo::Int i) { y[i] = x[i + 1] - x[i]; });
      });

  constexpr int n = 10'000;
  salvo::Vector<float> x(n), doubled(n), plus_one(n), other(n), slopes(n);
  auto numbers = x.write();
  for (int i = 0; i < n; ++i) numbers[i] = static_cast<float>(i);

  const salvo::Device device = choose();
  salvo::window::keep_decisions(100);
  salvo::window::reset_stats();
  device.launch(twice, salvo::over(n), x, doubled, n);
  device.launch(add_one, salvo::over(n), doubled, plus_one, n);  // element-wise: merges into twice
  device.launch(add_one, salvo::over(n), x, other, n);           // independent: joins the group
  device.launch(slope, salvo::over(n), doubled, slopes, n);  // reads a neighbour: a launch apart

  int wrong = 0;
  const auto slope_values = slopes.read();  // observes: all that is held runs
  for (int i = 0; i < n; ++i) {
    wrong += plus_one[i] != static_cast<float>(2 * i + 1);
    wrong += other[i] != static_cast<float>(i + 1);
    wrong += i < n - 1 && slope_values[i] != 2.0f;
  }

  std::cout << device.id() << ":\n";
  for (const salvo::Decision& decision : salvo::window::decisions()) print(decision);
  const salvo::WindowStats stats = salvo::window::stats();
  std::cout << stats.submitted << " launches made, " << stats.issued << " issued, "
            << stats.epilogue_merges << " merged, " << stats.fused_groups << " fused groups\n";
  for (const auto& [reason, count] : stats.refusals) {
    std::cout << "  " << name(reason) << ": " << count << '\n';
  }
  std::cout << wrong << " wrong\n";
  const bool counted = stats.submitted == 4 && stats.issued + stats.epilogue_merges <= 4;
  return wrong == 0 && counted ? 0 : 1;
}
