// Histogram of bytes: counts in shared memory first, then one atomic per bin and block.
// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <iostream>
#include <salvo/salvo.hpp>

namespace {

constexpr int kBins = 256;

}  // namespace

int main() {
  auto histogram = salvo::kernel("histogram", [](salvo::Span<const std::uint8_t> bytes,
                                                 salvo::Span<std::uint32_t> bins, salvo::Int n) {
    salvo::Shared<std::uint32_t> counts(kBins);
    auto t = salvo::thread_idx_x();
    salvo::for_(salvo::range(t, kBins, salvo::block_dim_x()),
                [&](salvo::Int bin) { counts[bin] = 0; });
    salvo::barrier();
    auto threads = salvo::grid_dim_x() * salvo::block_dim_x();
    salvo::for_(salvo::range(salvo::global_thread_id(), n, threads),
                [&](salvo::Int i) { salvo::atomic_add(counts[bytes[i]], 1); });
    salvo::barrier();
    salvo::for_(salvo::range(t, kBins, salvo::block_dim_x()),
                [&](salvo::Int bin) { salvo::atomic_add(bins[bin], counts[bin]); });
  });

  constexpr int n = 100'003;
  salvo::Vector<std::uint8_t> bytes(n);
  salvo::Vector<std::uint32_t> bins(kBins);
  std::array<std::uint32_t, kBins> expected{};
  std::uint32_t state = 1;
  for (std::uint8_t& byte : bytes.write()) {
    state = state * 1664525u + 1013904223u;  // a linear congruential generator
    byte = static_cast<std::uint8_t>(state >> 24 & state >> 16);
    ++expected[byte];
  }

  auto device = salvo::Device::best();
  device.launch(histogram, salvo::grid(8).block(64), bytes, bins, n);

  auto result = bins.read();
  int wrong = 0;
  for (int bin = 0; bin < kBins; ++bin) wrong += result[bin] != expected[bin];
  std::cout << device.id() << ": " << n << " bytes, " << wrong << " bins wrong\n";
  return wrong == 0 ? 0 : 1;
}
