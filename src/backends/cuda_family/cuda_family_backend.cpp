// A backend on a driver of the family: it opens the devices that the driver knows.
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_backend.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace salvo::backends::cuda_family {

FamilyBackend::FamilyBackend(std::string_view name, Drivers& drivers, OpenDevice open_device,
                             std::string_view advice)
    : name_(name), drivers_(drivers), open_device_(std::move(open_device)), advice_(advice) {}

std::vector<std::unique_ptr<runtime::DeviceDriver>> FamilyBackend::open() {
  std::vector<std::unique_ptr<runtime::DeviceDriver>> opened;
  auto [devices, reasons] = drivers_.devices();
  for (const DeviceFacts& facts : devices) {
    try {
      opened.push_back(open_device_(facts));
    } catch (const Error& error) {
      reasons.push_back(fmt::format("{}: {}", facts.properties.name, error.what()));
    }
  }
  unavailable_.reset();
  if (opened.empty()) {
    unavailable_ = runtime::Unavailable{fmt::format("{}{}", fmt::join(reasons, "; "), advice_)};
  }
  return opened;
}

}  // namespace salvo::backends::cuda_family
