// The smallest program worth fusing: two kernels that read one vector and write two.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "demo_kernels.hpp"
#include "demo_program.hpp"

namespace salvo::tool {
namespace {

constexpr int kCount = 1024;

class TwoKernels : public DemoProgram {
 public:
  std::string name() const override { return "two-kernels"; }
  std::string description() const override {
    return fmt::format("y = 2x and z = -x over {} elements", kCount);
  }

  void reset() override {
    auto x = x_.write();
    for (int i = 0; i < kCount; ++i) x[i] = start(i);
    std::ranges::fill(y_.write(), 0.0f);
    std::ranges::fill(z_.write(), 0.0f);
  }

  int run(const Device& device) override {
    device.launch(twice_, over(kCount), x_, y_, kCount);
    device.launch(negate_, over(kCount), x_, z_, kCount);
    return 2;
  }

  std::vector<std::span<const std::byte>> outputs() override {
    return {bytes_of(y_), bytes_of(z_)};
  }

  std::string check() override {
    const auto y = y_.read();
    const auto z = z_.read();
    for (int i = 0; i < kCount; ++i) {
      if (y[i] != start(i) * 2.0f || z[i] != -start(i)) {
        return fmt::format("element {} is {} and {}, not {} and {}", i, y[i], z[i], start(i) * 2.0f,
                           -start(i));
      }
    }
    return {};
  }

 private:
  static float start(int i) { return static_cast<float>(i) * 0.37f - 100.0f; }

  decltype(twice_kernel()) twice_ = twice_kernel();
  decltype(negate_kernel()) negate_ = negate_kernel();
  Vector<float> x_ = Vector<float>(kCount);
  Vector<float> y_ = Vector<float>(kCount);
  Vector<float> z_ = Vector<float>(kCount);
};

}  // namespace

std::unique_ptr<DemoProgram> make_two_kernels() {
  return std::make_unique<TwoKernels>();
}

}  // namespace salvo::tool
