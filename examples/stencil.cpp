// Heat spreading over a plate: a five-point stencil, many launches that depend on each other.
// SPDX-License-Identifier: MIT
#include <iostream>
#include <salvo/salvo.hpp>
#include <utility>
#include <vector>

namespace {

constexpr int kWidth = 200;
constexpr int kHeight = 120;
constexpr int kSteps = 6;  // with the whole numbers below, every sum is exact in f32

std::vector<float> step_on_host(const std::vector<float>& from) {
  std::vector<float> to = from;
  for (int y = 1; y < kHeight - 1; ++y) {
    for (int x = 1; x < kWidth - 1; ++x) {
      const int i = y * kWidth + x;
      to[i] = 0.25f * (from[i - 1] + from[i + 1] + from[i - kWidth] + from[i + kWidth]);
    }
  }
  return to;
}

}  // namespace

int main() {
  auto spread = salvo::kernel("spread", [](salvo::Span<const float> from, salvo::Span<float> to,
                                           salvo::Int width, salvo::Int height) {
    auto x = salvo::global_idx_x();
    auto y = salvo::global_idx_y();
    salvo::if_(x > 0 && x < width - 1 && y > 0 && y < height - 1, [&] {
      auto i = y * width + x;
      to[i] = 0.25f * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
    });
  });

  std::vector<float> expected(kWidth * kHeight, 0.0f);
  for (int x = 0; x < kWidth; ++x) expected[x] = static_cast<float>(x % 17);  // the hot edge
  salvo::Vector<float> now{std::span<const float>(expected)},
      next{std::span<const float>(expected)};

  auto device = salvo::Device::best();
  for (int step = 0; step < kSteps; ++step) {
    device.launch(spread, salvo::grid((kWidth + 31) / 32, (kHeight + 3) / 4).block(32, 4), now,
                  next, kWidth, kHeight);
    std::swap(now, next);
    expected = step_on_host(expected);
  }

  auto result = now.read();
  int wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) wrong += result[i] != expected[i];
  std::cout << device.id() << ": " << kSteps << " steps of " << expected.size() << " cells, "
            << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}
