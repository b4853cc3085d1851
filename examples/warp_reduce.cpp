// A sum and a count by warp operations: no shared memory, one atomic a warp.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <salvo/salvo.hpp>

int main() {
  auto sum_and_count = salvo::kernel(
      "sum_and_count",
      [](salvo::Span<const std::int32_t> values, salvo::Span<std::int32_t> results, salvo::Int n) {
        auto i = salvo::global_thread_id();
        // All threads of the warp take part, so those past the end bring a zero.
        salvo::Var<std::int32_t> value = 0;
        salvo::if_(i < n, [&] { value = values[i]; });
        auto sum = salvo::warp_add(value);
        auto positive = salvo::ballot(value > 0);  // a bit per lane
        salvo::if_(salvo::lane_id() == 0, [&] {
          salvo::atomic_add(results[0], sum);
          salvo::atomic_add(results[1], salvo::cast<std::int32_t>(salvo::popcount(positive)));
        });
      });

  constexpr int n = 100'003;
  salvo::Vector<std::int32_t> values(n), results{0, 0};
  auto numbers = values.write();
  std::int32_t sum = 0, count = 0;
  for (int i = 0; i < n; ++i) {
    numbers[i] = i * 31 % 201 - 100;
    sum += numbers[i];
    count += numbers[i] > 0;
  }

  // Not every device has warp operations; a launch on one that lacks them is refused by name.
  const auto all = salvo::Device::all();
  const auto able = std::ranges::find_if(
      all, [](const salvo::Device& device) { return device.properties().warp_operations; });
  if (able == all.end()) return 1;  // the Interpreter has them
  able->launch(sum_and_count, salvo::over(n), values, results, n);

  const std::int32_t got_sum = results[0], got_count = results[1];
  std::cout << able->id() << ", warps of " << able->properties().warp_size << ": sum " << got_sum
            << ", expected " << sum << "; " << got_count << " positive, expected " << count << '\n';
  return got_sum == sum && got_count == count ? 0 : 1;
}
