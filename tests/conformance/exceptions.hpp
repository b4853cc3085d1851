// What a backend is known not to do, with the reason.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "conformance/subjects.hpp"

namespace salvo::conformance {

/// Why `test` ("Suite.Name", or "Suite.Name_f32") must fail on the device, or empty. Such a test
/// still runs: it is reported as skipped with the reason while it fails, and as an error once it
/// passes.
std::string_view expected_failure(const Subject& subject, std::string_view test);

/// Source in a language of the backend: x[i] = (int)(scale * i) + offset, of an int span, a float
/// and an int.
runtime::UserSource user_source(const Subject& subject);

/// Units in the last place by which `function` on a device may differ from the exact result, as
/// stated for the backend.
double stated_ulps(const Subject& subject, ir::Op function, ir::Scalar type);

/// Units in the last place by which `function` on a device may differ from the interpreter: what
/// is stated for the backend, and what the interpreter's own function may be off.
double ulp_bound(const Subject& subject, ir::Op function, ir::Scalar type);

}  // namespace salvo::conformance
