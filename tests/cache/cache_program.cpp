// Launches two kernels on every device that compiles, and tells what was built and what they
// computed.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstdio>

#include "backends/opencl/opencl_api.hpp"
#include "backends/opencl/opencl_backend.hpp"
#include "ir/hash.hpp"
#include "salvo/salvo.hpp"

namespace {

constexpr int kCount = 1000;

auto polynomial() {
  return salvo::kernel("polynomial", [](salvo::Span<float> x, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = (x[i] * 0.3f + 0.7f) * x[i] - 0.1f; });
  });
}

auto quotient() {
  return salvo::kernel("quotient", [](salvo::Span<float> x, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = 1.0f / (x[i] + 3.0f); });
  });
}

}  // namespace

int main() {
  const auto devices = salvo::Device::by_backend("OpenCL");
  if (devices.empty()) {
    std::puts("SKIPPED: no OpenCL device");
    return 0;
  }
  const salvo::Device& device = devices.front();
  std::vector<float> start(kCount);
  for (int i = 0; i < kCount; ++i)
    start[static_cast<std::size_t>(i)] = 0.01f * static_cast<float>(i);
  salvo::Vector<float> x(start);
  device.launch(polynomial(), salvo::over(kCount), x, kCount);
  device.launch(quotient(), salvo::over(kCount), x, kCount);
  const auto result = x.read();
  const auto bits = salvo::ir::hash_bytes(result.data(), result.size() * sizeof(float));

  const auto& api = salvo::backends::opencl::shared_api();
  const salvo::DiskCacheCounts counts = salvo::Runtime::instance().disk_cache().this_runtime;
  fmt::print("built={} loaded={} hits={} rejected={} stored={} bits={}\n",
             api.CreateProgramWithSource.calls(), api.CreateProgramWithBinary.calls(), counts.hits,
             counts.rejected, counts.stored, bits.hex());
}
