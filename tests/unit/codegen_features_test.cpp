// What a kernel needs of its device, and how a device that lacks it is told of (K1, K8, W57).
// SPDX-License-Identifier: MIT
#include "codegen/features.hpp"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "salvo/error.hpp"
#include "salvo/salvo.hpp"
#include "unit/kernel_shapes.hpp"
#include "window/kernel_record.hpp"

namespace salvo::codegen {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using test::Shapes;

/// A device that has everything.
DeviceProperties all() {
  DeviceProperties device;
  device.name = "Board";
  device.fp64 = device.fp16_storage = device.int64 = true;
  device.atomics_i64 = device.atomics_f32 = device.atomics_f64 = true;
  device.warp_operations = device.dynamic_shared = true;
  device.shared_bytes_per_block = 1024;
  return device;
}

std::string refusal(const ir::Kernel& kernel, const DeviceProperties& device,
                    const FeatureNames& names = {}) {
  try {
    require(kernel, device, "OpenCL", names);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_EQ(error.backend(), "OpenCL");
    EXPECT_EQ(error.kernel(), kernel.name);
    return error.message();
  }
  return "";
}

ir::Kernel with_parameter(Scalar type) {
  Shapes k("typed");
  k.span_parameter("x", Element::scalar(type), true);
  return k.finish();
}

ir::Kernel adds_atomically(Scalar type) {
  Shapes k("adds");
  const auto x = k.span_parameter("x", Element::scalar(type), false);
  k.atomic(Op::AtomicAdd, x, {k.constant_i32(0), k.constant(type, 0)});
  return k.finish();
}

/// Stores a number that is the lane's or the warp's, without an exchange between lanes.
ir::Kernel stores(Op op) {
  Shapes k("stores");
  const auto x = k.span_parameter("x", Element::scalar(Scalar::I32), false);
  k.store(x, k.constant_i32(0), k.position(op, 0));
  return k.finish();
}

TEST(CodegenFeatures, EachIsRefusedByNameByADeviceThatLacksItAlone) {
  const auto lacks = [](bool DeviceProperties::*feature, const ir::Kernel& kernel) {
    DeviceProperties device = all();
    EXPECT_EQ(refusal(kernel, device), "");
    device.*feature = false;
    return refusal(kernel, device);
  };
  EXPECT_EQ(lacks(&DeviceProperties::fp64, with_parameter(Scalar::F64)), "Board lacks f64");
  EXPECT_EQ(lacks(&DeviceProperties::fp16_storage, with_parameter(Scalar::F16)), "Board lacks f16");
  EXPECT_EQ(lacks(&DeviceProperties::int64, with_parameter(Scalar::U64)), "Board lacks i64");
  EXPECT_EQ(lacks(&DeviceProperties::atomics_i64, adds_atomically(Scalar::I64)),
            "Board lacks 64-bit atomics");
  EXPECT_EQ(lacks(&DeviceProperties::atomics_f32, adds_atomically(Scalar::F32)),
            "Board lacks f32 atomic add");
  EXPECT_EQ(lacks(&DeviceProperties::atomics_f64, adds_atomically(Scalar::F64)),
            "Board lacks f64 atomic add");
  EXPECT_EQ(lacks(&DeviceProperties::warp_operations, stores(Op::LaneId)),
            "Board lacks warp operations");
  EXPECT_EQ(lacks(&DeviceProperties::warp_operations, stores(Op::WarpSize)),
            "Board lacks warp operations");
  Shapes dynamic("dynamic");
  dynamic.shared_array("s", Element::scalar(Scalar::F32), 0);
  EXPECT_EQ(lacks(&DeviceProperties::dynamic_shared, dynamic.finish()),
            "Board lacks dynamic shared memory");
}

TEST(CodegenFeatures, AllThatIsLackingIsNamedAtOnceInTheWordsOfTheApi) {
  DeviceProperties device = all();
  device.fp64 = device.atomics_f64 = false;
  EXPECT_EQ(refusal(adds_atomically(Scalar::F64), device, {.fp64 = "f64 (cl_khr_fp64)"}),
            "Board lacks f64 (cl_khr_fp64), f64 atomic add");
  Requirements more(adds_atomically(Scalar::F64), all(), "OpenCL");
  more.need(more.needs().has_fence, false, "fences");
  EXPECT_NO_THROW(more.check());
  more.need(true, false, "a table");
  more.need(true, false, "a chair");
  more.need(true, false, "a table");
  try {
    more.check();
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "Board lacks a table, a chair");
  }
}

TEST(CodegenFeatures, SharedMemoryBeyondTheDevicesIsRefusedWithBothNumbers) {
  const auto uses = [](std::uint32_t words) {
    Shapes k("shares");
    k.shared_array("s", Element::scalar(Scalar::F32), words);
    return k.finish();
  };
  EXPECT_EQ(refusal(uses(256), all()), "");
  EXPECT_EQ(refusal(uses(257), all()), "Board lacks 1028 bytes of shared memory (it has 1024)");
}

TEST(CodegenFeatures, K11_UserCodeWithoutWordsForTheBackendIsRefusedOnceByName) {
  const Intrinsic<float(float)> next("next", {{"HIP", "{0} + 1"}});
  const auto twice = kernel("twice", [next](Span<float> v) { v[0] = next(next(v[0])); });
  EXPECT_EQ(refusal(twice.record()->kernel, all()), "Board lacks code for 'next'");
}

}  // namespace
}  // namespace salvo::codegen
