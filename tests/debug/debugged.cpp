// A program whose kernel a debugger stops in and a profiler names.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <iostream>
#include <salvo/salvo.hpp>

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 1;
  const auto devices = salvo::Device::by_backend("Native");
  if (devices.empty()) {
    std::cout << "Native is not here\n";
    return 0;
  }
  const auto debugged =
      salvo::kernel("debugged", [](salvo::Span<float> x, salvo::Span<float> y, salvo::Int n) {
        auto i = salvo::global_thread_id();
        salvo::if_(i < n, [&] {
          salvo::Var<float> sum = 0.0f;
          salvo::for_(salvo::range(0, 64), [&](salvo::Int) {
            sum = sum * 0.5f + x[i];  // the line that the kernel spends its time on
          });
          y[i] = sum;
        });
      });
  constexpr int kCount = 4096;
  salvo::Vector<float> x(kCount, 1.0f), y(kCount);
  for (int k = 0; k < launches; ++k) devices[0].launch(debugged, salvo::over(kCount), x, y, kCount);
  std::cout << "y[0] = " << y[0] << '\n';
}
