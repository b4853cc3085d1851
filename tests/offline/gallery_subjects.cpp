// The conformance suite's one device where its kernels are collected: a fake one, which computes as
// the interpreter does.
// SPDX-License-Identifier: MIT
#include <map>
#include <memory>

#include "backends/interpreter/interpreter_backend.hpp"
#include "conformance/subjects.hpp"
#include "fake/fake_backend.hpp"

namespace salvo::conformance {

void PrintTo(const Subject& subject, std::ostream* out) {
  *out << subject.label;
}

const std::vector<Subject>& subjects() {
  static const auto backend =
      tests::make_fake_backend(std::make_shared<tests::FakeControl>(), {.backend = "HIP"});
  static const auto devices = backend->open();
  static const std::vector<Subject> all{{"HIP", "Fake0", devices.at(0).get()}};
  return all;
}

const std::vector<std::string>& missing() {
  static const std::vector<std::string> none;
  return none;
}

runtime::DeviceDriver& oracle(const DeviceProperties& device) {
  using backends::interpreter::Options;
  static std::map<std::uint32_t, std::vector<std::unique_ptr<runtime::DeviceDriver>>> by_width;
  auto& devices = by_width[device.warp_size];
  if (devices.empty()) {
    Options options;
    options.warp_size = device.warp_size;
    devices = backends::interpreter::InterpreterBackend(options).open();
  }
  return *devices.at(0);
}

}  // namespace salvo::conformance
