// Matrix product on the device's matrix units: a tile of 16x16 for each warp, halves added up in
// f32.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iostream>
#include <salvo/salvo.hpp>

namespace {

constexpr int kTile = 16;
constexpr int kRows = 64, kInner = 96, kColumns = 48;  // all multiples of the tile

bool has_tiles(const salvo::Device& device) {
  const auto& known = device.properties().cooperative_matrices;
  return std::ranges::find(known, salvo::CooperativeMatrixShape{kTile, kTile, kTile}) !=
         known.end();
}

}  // namespace

int main() {
  // c (m x n) = a (m x k) * b (k x n), row by row
  auto product = salvo::kernel(
      "cooperative_product", [](salvo::Span<const salvo::half> a, salvo::Span<const salvo::half> b,
                                salvo::Span<float> c, salvo::Int n, salvo::Int k) {
        auto row = salvo::block_idx_y() * kTile;
        auto column = salvo::block_idx_x() * kTile;
        salvo::Accumulator<float> sum(0.0f);
        salvo::for_(salvo::range(0, k / kTile), [&](salvo::Int step) {
          auto left = salvo::MatrixA<salvo::half>::load(a, row * k + step * kTile, k);
          auto right = salvo::MatrixB<salvo::half>::load(b, step * kTile * n + column, n);
          sum = salvo::multiply_add(left, right, sum);
        });
        sum.store(c, row * n + column, n);
      });

  salvo::Vector<salvo::half> a(kRows * kInner), b(kInner * kColumns);
  salvo::Vector<float> c(kRows * kColumns);
  auto left = a.write(), right = b.write();
  for (std::size_t i = 0; i < left.size(); ++i)
    left[i] = salvo::half(static_cast<float>(i % 7) - 3);
  for (std::size_t i = 0; i < right.size(); ++i) {
    right[i] = salvo::half(static_cast<float>(i % 5) - 2);
  }

  auto device = salvo::Device::best();
  if (!has_tiles(device)) {
    std::cout << device.id() << " has no cooperative matrices of 16x16 halves; ";
    device = salvo::Device::get("Interpreter:0");
  }
  device.launch(product,
                salvo::grid(kColumns / kTile, kRows / kTile)
                    .block(static_cast<int>(device.properties().warp_size)),
                a, b, c, kColumns, kInner);

  auto result = c.read();
  int wrong = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      float expected = 0;  // small whole numbers: exact in any order
      for (int i = 0; i < kInner; ++i)
        expected += left[row * kInner + i] * right[i * kColumns + column];
      wrong += result[row * kColumns + column] != expected;
    }
  }
  std::cout << device.id() << ": " << result.size() << " elements, " << wrong << " wrong\n";
  return wrong == 0 ? 0 : 1;
}
