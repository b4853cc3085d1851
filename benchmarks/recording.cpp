// Host time of recording a held launch, and of issuing what was recorded, by group size.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <salvo/salvo.hpp>
#include <vector>

namespace {

constexpr int kRounds = 200;
constexpr int kElements = 256;

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + kRounds / 2);
  return values[kRounds / 2];
}

double nanoseconds(std::chrono::steady_clock::time_point from,
                   std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double, std::nano>(to - from).count();
}

void measure(const salvo::Device& device, std::uint32_t members, int launches) {
  static const auto twice =
      salvo::kernel("twice", [](salvo::Span<float> x, salvo::Span<float> y, salvo::Int n) {
        auto i = salvo::global_thread_id();
        salvo::if_(i < n, [&] { y[i] = x[i] * 2.0f; });
      });
  salvo::window::set_limits(8, members);
  std::vector<salvo::Vector<float>> from, to;
  for (int k = 0; k < launches; ++k) {
    from.emplace_back(std::size_t{kElements}, 1.0f);
    to.emplace_back(std::size_t{kElements});
  }
  std::vector<double> record, issue, wait;
  for (int round = 0; round <= kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < from.size(); ++k) {
      device.launch(twice, salvo::over(kElements), from[k], to[k], kElements);
    }
    const auto recorded = std::chrono::steady_clock::now();
    salvo::window::flush();
    const auto issued = std::chrono::steady_clock::now();
    device.synchronize();
    if (round == 0) continue;  // it compiles
    record.push_back(nanoseconds(start, recorded) / launches);
    issue.push_back(nanoseconds(recorded, issued));
    wait.push_back(nanoseconds(issued, std::chrono::steady_clock::now()));
  }
  fmt::print("{:>8} {:>9} {:>14.0f} {:>14.0f} {:>14.0f}\n", members, launches, median(record),
             median(issue), median(wait));
}

}  // namespace

int main(int argc, char** argv) {
  const salvo::Device device =
      argc > 1 ? salvo::Device::by_backend(argv[1]).at(0) : salvo::Device::best();
  salvo::window::set_cpu_devices(true);
  salvo::window::set_planner(salvo::Planner::always);
  fmt::print("{}: medians of {} rounds, nanoseconds\n{:>8} {:>9} {:>14} {:>14} {:>14}\n",
             device.id(), kRounds, "members", "launches", "record, each", "issue, all", "wait");
  for (const std::uint32_t members : {8U, 64U, 256U}) {
    for (const int launches : {8, 64, 256}) measure(device, members, launches);
  }
}
