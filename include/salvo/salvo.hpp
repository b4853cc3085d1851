// The whole public interface.
// SPDX-License-Identifier: MIT
#pragma once

#include "salvo/atomic.hpp"
#include "salvo/contraction.hpp"
#include "salvo/control.hpp"
#include "salvo/device.hpp"
#include "salvo/dims.hpp"
#include "salvo/error.hpp"
#include "salvo/kernel.hpp"
#include "salvo/math.hpp"
#include "salvo/policy.hpp"
#include "salvo/position.hpp"
#include "salvo/properties.hpp"
#include "salvo/record.hpp"
#include "salvo/runtime.hpp"
#include "salvo/span.hpp"
#include "salvo/types.hpp"
#include "salvo/value.hpp"
#include "salvo/vector.hpp"
#include "salvo/window.hpp"
