// Two kernels as one, without the vector between them: half the memory traffic, the same bits.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cstdint>
#include <iostream>
#include <salvo/salvo.hpp>

int main() {
  constexpr int kBlock = 64;
  auto squares =
      salvo::kernel("squares", [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
        salvo::for_each_thread(n, [&](salvo::Int i) { y[i] = x[i] * x[i]; });
      });
  auto block_sums = salvo::kernel(
      "block_sums", [](salvo::Span<const float> y, salvo::Span<float> sums, salvo::Int n) {
        salvo::Shared<float> part(kBlock);
        auto t = salvo::thread_idx_x();
        auto i = salvo::global_thread_id();
        part[t] = 0.0f;
        salvo::if_(i < n, [&] { part[t] = y[i]; });
        salvo::barrier();
        for (int stride = kBlock / 2; stride > 0; stride /= 2) {  // unrolled while tracing
          salvo::if_(t < stride, [&] { part[t] += part[t + stride]; });
          salvo::barrier();
        }
        salvo::if_(t == 0, [&] { sums[salvo::block_idx_x()] = part[0]; });
      });
  // Parameter 1 of squares is parameter 0 of block_sums; neither is left.
  auto norm = salvo::fuse(squares, block_sums, salvo::through<1, 0>);

  constexpr int n = 50'000;
  constexpr int blocks = (n + kBlock - 1) / kBlock;
  salvo::Vector<float> x(n), y(n), apart(blocks), fused(blocks);
  auto numbers = x.write();
  for (int i = 0; i < n; ++i) numbers[i] = 0.1f * static_cast<float>(i % 1001);

  auto device = salvo::Device::best();
  device.launch(squares, salvo::over(n), x, y, n);
  device.launch(block_sums, salvo::grid(blocks).block(kBlock), y, apart, n);
  // x and n of squares, then sums and n of block_sums.
  device.launch(norm, salvo::grid(blocks).block(kBlock), x, n, fused, n);

  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const bool same = std::ranges::equal(apart.read(), fused.read(), {}, bits, bits);
  std::cout << device.id() << ": " << blocks << " sums, the first " << fused[0] << ", "
            << (same ? "the same bits" : "OTHER BITS") << " as two launches\n";
  return same && fused[0] > 0.0f ? 0 : 1;
}
