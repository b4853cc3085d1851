// Tree reduction: each block sums its part in shared memory, until one block is left.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <iostream>
#include <salvo/salvo.hpp>
#include <utility>

int main() {
  constexpr int kBlock = 64;
  auto sum_blocks = salvo::kernel("sum_blocks", [](salvo::Span<const std::int32_t> values,
                                                   salvo::Span<std::int32_t> sums, salvo::Int n) {
    salvo::Shared<std::int32_t> part(kBlock);
    auto t = salvo::thread_idx_x();
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { part[t] = values[i]; }).else_([&] { part[t] = 0; });
    salvo::barrier();

    salvo::Var<std::int32_t> stride = kBlock / 2;
    salvo::while_([&] { return stride > 0; },
                  [&] {
                    salvo::if_(t < stride, [&] { part[t] += part[t + stride]; });
                    salvo::barrier();
                    stride /= 2;
                  });
    salvo::if_(t == 0, [&] { sums[salvo::block_idx_x()] = part[0]; });
  });

  constexpr int n = 50'000;
  salvo::Vector<std::int32_t> values(n);
  auto numbers = values.write();
  std::int32_t expected = 0;
  for (int i = 0; i < n; ++i) expected += numbers[i] = i % 1000 - 300;

  auto device = salvo::Device::best();
  int left = n;
  while (left > 1) {
    const int blocks = (left + kBlock - 1) / kBlock;
    salvo::Vector<std::int32_t> sums(static_cast<std::size_t>(blocks));
    device.launch(sum_blocks, salvo::grid(blocks).block(kBlock), values, sums, left);
    values = std::move(sums);
    left = blocks;
  }

  const std::int32_t sum = values[0];
  std::cout << device.id() << ": the sum is " << sum << ", expected " << expected << '\n';
  return sum == expected ? 0 : 1;
}
