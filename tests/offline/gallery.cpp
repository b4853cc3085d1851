// The kernels that a test program launches, kept to be compiled by a real device compiler.
// SPDX-License-Identifier: MIT
#include "offline/gallery.hpp"

#include <utility>

#include <fmt/format.h>

#include "fake/fake_backend.hpp"
#include "passes/contract.hpp"

namespace salvo::tests {

Gallery::Gallery() {
  watch_builds([this](const ir::Kernel& kernel) { add(kernel); });
}

Gallery::~Gallery() {
  watch_builds(nullptr);
}

void Gallery::add(const ir::Kernel& kernel) {
  // Suites below the window launch kernels as they were traced; programs, in this form (W50).
  ir::Kernel final_form = passes::contract(kernel);
  const std::lock_guard lock(lock_);
  kernels_.try_emplace(ir::hash(kernel), kernel);
  kernels_.try_emplace(ir::hash(final_form), std::move(final_form));
}

std::vector<ir::Kernel> Gallery::kernels() const {
  const std::lock_guard lock(lock_);
  std::vector<ir::Kernel> all;
  for (const auto& [digest, kernel] : kernels_) {
    all.push_back(kernel);
    // Several are compiled together, and many are called alike.
    all.back().name = fmt::format("{}_n{}", kernel.name, all.size());
  }
  return all;
}

}  // namespace salvo::tests
