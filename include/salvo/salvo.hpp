// The whole public interface.
// SPDX-License-Identifier: MIT
//
// Ids such as W12, P3, K7 and R5 in these headers are rules of the specification, docs/spec. Where
// Salvo is installed, docs is share/doc/salvo.
#pragma once

#include "salvo/atomic.hpp"
#include "salvo/contraction.hpp"
#include "salvo/control.hpp"
#include "salvo/cooperative_matrix.hpp"
#include "salvo/device.hpp"
#include "salvo/dims.hpp"
#include "salvo/error.hpp"
#include "salvo/fuse.hpp"
#include "salvo/intrinsic.hpp"
#include "salvo/kernel.hpp"
#include "salvo/log.hpp"
#include "salvo/math.hpp"
#include "salvo/policy.hpp"
#include "salvo/position.hpp"
#include "salvo/profiler.hpp"
#include "salvo/properties.hpp"
#include "salvo/record.hpp"
#include "salvo/runtime.hpp"
#include "salvo/soa.hpp"
#include "salvo/source.hpp"
#include "salvo/span.hpp"
#include "salvo/stream.hpp"
#include "salvo/transfer.hpp"
#include "salvo/types.hpp"
#include "salvo/value.hpp"
#include "salvo/vector.hpp"
#include "salvo/window.hpp"
