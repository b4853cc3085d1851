// Compiler options that would let a device compiler change floating-point results.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/float_options.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <vector>

namespace salvo::codegen::c_family {
namespace {

/// Options that relax by being there, without their dashes.
constexpr std::string_view kAlways[] = {
    "Ofast",
    "cl-denorms-are-zero",
    "cl-fast-relaxed-math",
    "cl-finite-math-only",
    "cl-mad-enable",
    "cl-no-signed-zeros",
    "cl-unsafe-math-optimizations",
    "enable-approx-func-fp-math",
    "enable-no-infs-fp-math",
    "enable-no-nans-fp-math",
    "enable-no-signed-zeros-fp-math",
    "enable-unsafe-fp-math",
    "fapprox-func",
    "fassociative-math",
    "fcuda-approx-transcendentals",
    "fcuda-flush-denormals-to-zero",
    "ffast-math",
    "ffinite-math-only",
    "fgpu-approx-transcendentals",
    "fgpu-flush-denormals-to-zero",
    "fno-hip-fp32-correctly-rounded-divide-sqrt",
    "fno-honor-infinities",
    "fno-honor-nans",
    "fno-signed-zeros",
    "freciprocal-math",
    "funsafe-math-optimizations",
    "menable-unsafe-fp-math",
    "munsafe-fp-atomics",
    "use_fast_math",
};

/// Options whose values all relax but one or two.
struct Valued {
  std::string_view name;
  std::array<std::string_view, 2> exact;
};
constexpr Valued kValued[] = {
    {"denormal-fp-math", {"ieee", "ieee,ieee"}},
    {"denormal-fp-math-f32", {"ieee", "ieee,ieee"}},
    {"fdenormal-fp-math", {"ieee", "ieee,ieee"}},
    {"fdenormal-fp-math-f32", {"ieee", "ieee,ieee"}},
    {"ffp-contract", {"off", "off"}},
    {"ffp-model", {"precise", "strict"}},
    {"fmad", {"false", "false"}},
    {"fp-contract", {"off", "off"}},
    {"ftz", {"false", "false"}},
    {"prec-div", {"true", "true"}},
    {"prec-sqrt", {"true", "true"}},
};

std::vector<std::string> words_of(std::span<const std::string> options) {
  std::vector<std::string> words;
  for (const std::string& option : options) {
    std::istringstream stream(option);
    for (std::string word; stream >> word;) words.push_back(word);
  }
  return words;
}

}  // namespace

std::string relaxing_option(std::span<const std::string> options) {
  const std::vector<std::string> words = words_of(options);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view text = words[i];
    if (!text.starts_with('-')) continue;
    text.remove_prefix(std::min(text.find_first_not_of('-'), text.size()));
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (std::ranges::find(kAlways, name) != std::end(kAlways)) return words[i];
    const auto* valued = std::ranges::find(kValued, name, &Valued::name);
    if (valued == std::end(kValued)) continue;
    const bool split = equals == std::string_view::npos;
    const bool has_next = split && i + 1 < words.size();
    const std::string_view value = !split     ? text.substr(equals + 1)
                                   : has_next ? std::string_view(words[i + 1])
                                              : std::string_view();
    if (std::ranges::find(valued->exact, value) == valued->exact.end()) {
      return has_next ? words[i] + " " + words[i + 1] : words[i];
    }
  }
  return {};
}

}  // namespace salvo::codegen::c_family
