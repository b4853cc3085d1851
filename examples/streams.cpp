// Two streams work side by side; an event joins them, and a timer reads the device's own clock.
// SPDX-License-Identifier: MIT
#include <iostream>
#include <salvo/salvo.hpp>

int main() {
  auto steps = salvo::kernel("steps", [](salvo::Span<float> x, salvo::Float by) {
    salvo::for_each_thread(
        x, [&](salvo::Int i) { salvo::for_(salvo::range(64), [&](salvo::Int) { x[i] += by; }); });
  });
  auto sum = salvo::kernel(
      "sum", [](salvo::Span<const float> a, salvo::Span<const float> b, salvo::Span<float> c) {
        salvo::for_each_thread(c, [&](salvo::Int i) { c[i] = a[i] + b[i]; });
      });

  constexpr int n = 65'536;
  salvo::Vector<float> a(n), b(n), c(n);
  auto device = salvo::Device::best();
  try {
    salvo::Stream first(device), second(device);
    salvo::Timer timer(second);
    timer.start();
    first.launch(steps, salvo::over(n), a, 0.5f);
    second.launch(steps, salvo::over(n), b, 0.25f);
    second.wait(first.record());  // `sum` needs both
    second.launch(sum, salvo::over(n), a, b, c);
    timer.stop();

    // 64 / 2 + 64 / 4, each step exact.
    int wrong = 0;
    for (float value : c) wrong += value != 48.0f;
    std::cout << device.id() << ": " << timer.elapsed_ms() << " ms, compiling included, " << wrong
              << " wrong\n";
    return wrong == 0 ? 0 : 1;
  } catch (const salvo::Error& error) {
    if (error.code() != salvo::Errc::unsupported) throw;
    std::cout << device.id() << " has no streams: " << error.what() << "\n";
    return 0;
  }
}
