// What a backend is known not to do, with the reason.
// SPDX-License-Identifier: MIT
#include "conformance/exceptions.hpp"

#include <map>
#include <stdexcept>
#include <string>

namespace salvo::conformance {
namespace {

struct Exception {
  std::string_view backend;
  std::string_view platform;  // part of its name; empty: any
  std::string_view test;
  std::string_view reason;
};

constexpr Exception kExceptions[] = {
    {"none", "", "", "placeholder"},
};

/// The OpenCL 3.0 specification, section 7.4, full profile; single and double precision alike.
const std::map<std::string_view, double> kOpenclUlps{
    {"rsqrt", 2}, {"cbrt", 2},  {"sin", 4},   {"cos", 4},   {"tan", 5},   {"asin", 4},
    {"acos", 4},  {"atan", 5},  {"atan2", 6}, {"sinh", 4},  {"cosh", 4},  {"tanh", 5},
    {"exp", 3},   {"exp2", 3},  {"expm1", 3}, {"log", 3},   {"log2", 3},  {"log10", 3},
    {"log1p", 2}, {"pow", 16},  {"hypot", 4},
};

}  // namespace

std::string_view expected_failure(const Subject& subject, std::string_view test) {
  for (const Exception& exception : kExceptions) {
    if (exception.backend == subject.backend && exception.test == test &&
        subject.driver->properties().platform.find(exception.platform) != std::string::npos) {
      return exception.reason;
    }
  }
  return {};
}

double ulp_bound(const Subject& subject, std::string_view function) {
  if (subject.backend == "OpenCL") return kOpenclUlps.at(function);
  throw std::logic_error("no bounds are stated for " + subject.backend);
}

}  // namespace salvo::conformance
