// Host and whole cost of a launch on Vulkan, by the number of launches in a submission (W74).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <salvo/salvo.hpp>
#include <string>
#include <vector>

namespace {

constexpr int kLaunches = 256;
constexpr int kRounds = 40;
constexpr int kCount = 256;
constexpr std::array kBatches{1, 8, 32, 64, 256};

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count() / kLaunches;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// A runtime whose Vulkan devices submit so many launches at a time, and its vectors.
class Subject {
 public:
  explicit Subject(int batch) : batch_(std::to_string(batch)) {
    salvo::RuntimeOptions options;
    options.environment = [this](const char* name) -> const char* {
      return std::strcmp(name, "SALVO_VULKAN_BATCH") == 0 ? batch_.c_str() : nullptr;
    };
    runtime_ = std::make_unique<salvo::Runtime>(std::move(options));
    runtime_->window().set_enabled(false);
    for (int i = 0; i < kLaunches; ++i) outputs_.emplace_back(std::size_t{kCount});
  }

  std::vector<salvo::Device> devices() const { return runtime_->by_backend("Vulkan"); }

  template <class Kernel>
  void round(const Kernel& kernel, bool independent) {
    const salvo::Device device = devices().front();
    const auto before = Clock::now();
    for (int i = 0; i < kLaunches; ++i) {
      device.launch(kernel, salvo::over(kCount), input_, outputs_[independent ? i : 0], kCount);
    }
    const auto launched = Clock::now();
    device.synchronize();
    host_[independent].push_back(microseconds(launched - before));
    whole_[independent].push_back(microseconds(Clock::now() - before));
  }

  void forget() {
    for (auto* times : {&host_[0], &host_[1], &whole_[0], &whole_[1]}) times->clear();
  }
  double host(bool independent) const { return median(host_[independent]); }
  double whole(bool independent) const { return median(whole_[independent]); }

 private:
  std::string batch_;
  std::unique_ptr<salvo::Runtime> runtime_;
  salvo::Vector<float> input_ = salvo::Vector<float>(std::size_t{kCount}, 1.0f);
  std::vector<salvo::Vector<float>> outputs_;
  std::array<std::vector<double>, 2> host_;  // dependent, independent
  std::array<std::vector<double>, 2> whole_;
};

}  // namespace

int main() {
  const auto kernel =
      salvo::kernel("add", [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
        auto i = salvo::global_thread_id();
        salvo::if_(i < n, [&] { y[i] = y[i] + x[i]; });
      });
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const int batch : kBatches) subjects.push_back(std::make_unique<Subject>(batch));
  if (subjects.front()->devices().empty()) {
    fmt::print("no Vulkan device\n");
    return 1;
  }
  // Rounds of all batch sizes take turns, so that a slow spell of the machine meets each of them.
  for (int round = 0; round <= kRounds; ++round) {
    for (const auto& subject : subjects) {
      subject->round(kernel, false);
      subject->round(kernel, true);
      if (round == 0) subject->forget();  // compiled and uploaded
    }
  }
  fmt::print("{}: us a launch, medians of {} rounds of {}, and how many times less than batch 1\n",
             subjects.front()->devices().front().properties().name, kRounds, kLaunches);
  fmt::print("{:>6} {:>12} {:>18} {:>18} {:>18} {:>18}\n", "batch", "", "dependent host", "whole",
             "independent host", "whole");
  const Subject& single = *subjects.front();
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const Subject& subject = *subjects[i];
    std::string line = fmt::format("{:>6} {:>12}", kBatches[i], "");
    for (const bool independent : {false, true}) {
      line += fmt::format(" {:>10.2f} {:>6.1f}x {:>10.2f} {:>6.1f}x", subject.host(independent),
                          single.host(independent) / subject.host(independent),
                          subject.whole(independent),
                          single.whole(independent) / subject.whole(independent));
    }
    fmt::print("{}\n", line);
  }
}
