// The error that a call must throw.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include "salvo/error.hpp"

namespace salvo::tests {

/// What `call` throws; fails the test if it throws nothing.
template <class Call>
Error caught(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(Errc::io, "nothing was thrown");
}

}  // namespace salvo::tests
