// An include that points the wrong way, for the test of the layering check.
// SPDX-License-Identifier: MIT
#include "ir/kernel.hpp"
#include "window/window.hpp"
