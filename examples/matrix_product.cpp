// Tiled matrix product: tiles of both operands in shared memory, a barrier around each use.
// SPDX-License-Identifier: MIT
#include <iostream>
#include <salvo/salvo.hpp>

namespace {

constexpr int kTile = 16;
constexpr int kRows = 70, kInner = 50, kColumns = 90;  // none a multiple of the tile

}  // namespace

int main() {
  // c (m x n) = a (m x k) * b (k x n), row by row
  auto product = salvo::kernel(
      "matrix_product", [](salvo::Span<const float> a, salvo::Span<const float> b,
                           salvo::Span<float> c, salvo::Int m, salvo::Int n, salvo::Int k) {
        salvo::Shared<float> tile_a(kTile * kTile), tile_b(kTile * kTile);
        auto tx = salvo::thread_idx_x();
        auto ty = salvo::thread_idx_y();
        auto row = salvo::global_idx_y();
        auto column = salvo::global_idx_x();
        auto here = ty * kTile + tx;

        salvo::Var<float> sum = 0.0f;
        salvo::for_(salvo::range(0, (k + (kTile - 1)) / kTile), [&](salvo::Int tile) {
          auto across = tile * kTile + tx;
          auto down = tile * kTile + ty;
          salvo::if_(row < m && across < k, [&] { tile_a[here] = a[row * k + across]; }).else_([&] {
            tile_a[here] = 0.0f;
          });
          salvo::if_(down < k && column < n, [&] {
            tile_b[here] = b[down * n + column];
          }).else_([&] { tile_b[here] = 0.0f; });
          salvo::barrier();
          salvo::for_(salvo::range(0, kTile), [&](salvo::Int i) {
            sum += tile_a[ty * kTile + i] * tile_b[i * kTile + tx];
          });
          salvo::barrier();
        });
        salvo::if_(row < m && column < n, [&] { c[row * n + column] = sum; });
      });

  salvo::Vector<float> a(kRows * kInner), b(kInner * kColumns), c(kRows * kColumns);
  auto left = a.write(), right = b.write();
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = static_cast<float>(i % 5) - 2;

  auto device = salvo::Device::best();
  device.launch(
      product,
      salvo::grid((kColumns + kTile - 1) / kTile, (kRows + kTile - 1) / kTile).block(kTile, kTile),
      a, b, c, kRows, kColumns, kInner);

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
