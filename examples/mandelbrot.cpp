// The Mandelbrot set as text: a loop that each thread leaves at its own time.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <iostream>
#include <salvo/salvo.hpp>
#include <string_view>

namespace {

constexpr int kWidth = 78;
constexpr int kHeight = 31;  // odd, so that the middle row is the real axis
constexpr int kMost = 200;
constexpr float kStepX = 0.0390625f;  // sums of these are exact, so rows mirror each other
constexpr float kStepY = 0.078125f;

}  // namespace

int main() {
  auto mandelbrot = salvo::kernel("mandelbrot", [](salvo::Span<std::int32_t> steps) {
    auto column = salvo::global_idx_x();
    auto row = salvo::global_idx_y();
    salvo::if_(column >= kWidth || row >= kHeight, [] { salvo::return_(); });

    salvo::Float cx = salvo::cast<float>(column) * kStepX - 2.25f;
    salvo::Float cy = salvo::cast<float>(row - kHeight / 2) * kStepY;
    salvo::Var<float> x = 0.0f, y = 0.0f;
    salvo::Var<std::int32_t> count = 0;
    salvo::while_([&] { return count < kMost; },
                  [&] {
                    salvo::if_(x * x + y * y > 4.0f, [] { salvo::break_(); });
                    salvo::Float next = x * x - y * y + cx;
                    y = 2.0f * x * y + cy;
                    x = next;
                    count += 1;
                  });
    steps[row * kWidth + column] = count;
  });

  salvo::Vector<std::int32_t> steps(kWidth * kHeight);
  auto device = salvo::Device::best();
  device.launch(mandelbrot, salvo::grid((kWidth + 15) / 16, (kHeight + 3) / 4).block(16, 4), steps);

  auto counts = steps.read();
  int inside = 0, asymmetric = 0;
  for (int row = 0; row < kHeight; ++row) {
    for (int column = 0; column < kWidth; ++column) {
      const int count = counts[row * kWidth + column];
      constexpr std::string_view kShades = " .:-=+*%@";
      std::cout << (count == kMost ? '#' : kShades[count < 16 ? count / 2 : 8]);
      inside += count == kMost;
      asymmetric += count != counts[(kHeight - 1 - row) * kWidth + column];
    }
    std::cout << '\n';
  }
  // The set's area is 1.5066; a cell is kStepX * kStepY.
  const double area = inside * double{kStepX} * double{kStepY};
  const bool right = asymmetric == 0 && area > 1.4 && area < 1.7;
  std::cout << device.id() << ": area " << area << ", " << asymmetric
            << " cells unlike their mirror\n";
  return right ? 0 : 1;
}
