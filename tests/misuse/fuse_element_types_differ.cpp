// The vector between two kernels that are fused has one element type.
// SPDX-License-Identifier: MIT
// expect: salvo: producer and consumer differ in the intermediate's element type
#include <salvo/salvo.hpp>

int main() {
  auto first = salvo::kernel("first", [](salvo::Span<float> x, salvo::Span<float> y) {
    y[salvo::global_thread_id()] = x[salvo::global_thread_id()];
  });
  auto second = salvo::kernel("second", [](salvo::Span<int> y, salvo::Span<int> z) {
    z[salvo::global_thread_id()] = y[salvo::global_thread_id()];
  });
  return salvo::fuse(first, second, salvo::through<1, 0>).name().empty();
}
