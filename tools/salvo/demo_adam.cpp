// One step of the Adam optimiser over every parameter tensor of ResNet-50, a launch a tensor.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "demo_kernels.hpp"
#include "demo_program.hpp"
#include "resnet50.hpp"

namespace salvo::tool {
namespace {

// The paper's suggested settings.
constexpr float kRate = 0.001f;
constexpr float kBeta1 = 0.9f;
constexpr float kBeta2 = 0.999f;
constexpr float kEpsilon = 1e-8f;

// Evenly spread numbers in [-1, 1): the finaliser of SplitMix64 over a counter.
float spread(std::uint64_t counter) {
  std::uint64_t z = counter * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<float>(static_cast<std::int32_t>(z >> 32U)) * 0x1p-31f;
}

float correction(float beta, int step) {
  return static_cast<float>(1.0 / (1.0 - std::pow(double{beta}, step)));
}

struct State {
  Tensor tensor;
  std::uint64_t first;  // counter of the tensor's first element
  Vector<float> parameter, gradient, mean, variance;

  float start(std::size_t i) const { return spread(first + i) * 0.1f; }
  float slope(std::size_t i) const { return spread(~(first + i)) * 0.01f; }
};

class Adam : public DemoProgram {
 public:
  Adam() {
    std::uint64_t first = 0;
    for (Tensor& tensor : resnet50_parameters()) {
      const auto count = static_cast<std::size_t>(tensor.elements());
      states_.push_back({std::move(tensor), first, Vector<float>(count), Vector<float>(count),
                         Vector<float>(count), Vector<float>(count)});
      first += count;
    }
    elements_ = first;
  }

  std::string name() const override { return "adam"; }
  std::string description() const override {
    return fmt::format("an Adam step over the {} tensors and {} parameters of ResNet-50",
                       states_.size(), elements_);
  }

  void reset() override {
    step_ = 0;
    for (State& state : states_) {
      auto parameter = state.parameter.write();
      auto gradient = state.gradient.write();
      for (std::size_t i = 0; i < parameter.size(); ++i) {
        parameter[i] = state.start(i);
        gradient[i] = state.slope(i);
      }
      std::ranges::fill(state.mean.write(), 0.0f);
      std::ranges::fill(state.variance.write(), 0.0f);
    }
  }

  int run(const Device& device) override {
    ++step_;
    const float correction1 = correction(kBeta1, step_);
    const float correction2 = correction(kBeta2, step_);
    for (State& state : states_) {
      const std::int64_t count = state.tensor.elements();
      device.launch(adam_, over(count), state.parameter, state.gradient, state.mean, state.variance,
                    kRate, kBeta1, kBeta2, kEpsilon, correction1, correction2, count);
    }
    return static_cast<int>(states_.size());
  }

  std::vector<std::span<const std::byte>> outputs() override {
    std::vector<std::span<const std::byte>> all;
    for (const State& state : states_) {
      all.push_back(bytes_of(state.parameter));
      all.push_back(bytes_of(state.mean));
      all.push_back(bytes_of(state.variance));
    }
    return all;
  }

  std::string check() override {
    // A few roundings of terms no larger than the start and one step.
    constexpr double kTolerance = 1e-7;
    for (const State& state : states_) {
      const auto result = state.parameter.read();
      for (std::size_t i = 0; i < result.size(); ++i) {
        const double g = state.slope(i);
        const double m = (1.0 - double{kBeta1}) * g / (1.0 - double{kBeta1});
        const double v = (1.0 - double{kBeta2}) * g * g / (1.0 - double{kBeta2});
        const double expected = state.start(i) - kRate * m / (std::sqrt(v) + kEpsilon);
        if (!(std::abs(result[i] - expected) <= kTolerance)) {
          return fmt::format("{}[{}] is {}, not about {}", state.tensor.name, i, result[i],
                             expected);
        }
      }
    }
    return {};
  }

 private:
  decltype(adam_kernel()) adam_ = adam_kernel();
  std::vector<State> states_;
  std::uint64_t elements_ = 0;
  int step_ = 0;
};

}  // namespace

std::unique_ptr<DemoProgram> make_adam() {
  return std::make_unique<Adam>();
}

}  // namespace salvo::tool
