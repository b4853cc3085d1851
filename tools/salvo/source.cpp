// `salvo source`: a kernel as IR or as source for a target, with no device needed (K15).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "demo_kernels.hpp"
#include "input_error.hpp"
#include "print_json.hpp"
#include "table.hpp"

namespace salvo::tool {
namespace {

constexpr const char* kIrTarget = "ir";

struct Entry {
  std::string name;
  std::string purpose;
  std::function<std::string(const std::string& target)> text;
};

template <class... P>
Entry entry(const Kernel<P...>& kernel, std::string purpose) {
  return {kernel.name(), std::move(purpose), [kernel](const std::string& target) {
            return target == kIrTarget ? kernel.ir() : kernel.source(target);
          }};
}

std::vector<Entry> entries() {
  return {entry(twice_kernel(), "y = 2x"),
          entry(negate_kernel(), "z = -x"),
          entry(adam_kernel(), "one step of the Adam optimiser"),
          entry(reduce_kernel(), "the next coarser level of a Gaussian pyramid"),
          entry(laplacian_kernel(), "a level of a Laplacian pyramid"),
          entry(collapse_kernel(), "the next finer level, from detail and coarser level")};
}

}  // namespace

int source(const SourceOptions& options) {
  const std::vector<Entry> all = entries();
  if (options.kernel.empty()) {
    if (options.json) {
      nlohmann::json document = nlohmann::json::array();
      for (const Entry& one : all) {
        document.push_back({{"kernel", one.name}, {"purpose", one.purpose}});
      }
      print_json(document);
      return kSuccess;
    }
    Table table({{"kernel"}, {"computes"}});
    for (const Entry& one : all) table.add_row({one.name, one.purpose});
    fmt::print("{}", table.text());
    return kSuccess;
  }

  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Entry& one) { return one.name == options.kernel; });
  if (found == all.end()) {
    throw InputError(fmt::format("no kernel '{}'; `salvo source` lists them", options.kernel));
  }
  const std::string text = found->text(options.target);
  if (options.json) {
    const nlohmann::json document{
        {"kernel", found->name}, {"target", options.target}, {"source", text}};
    print_json(document);
  } else {
    fmt::print("{}", text);
  }
  return kSuccess;
}

}  // namespace salvo::tool
