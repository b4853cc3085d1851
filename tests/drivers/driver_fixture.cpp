// A backend on a stand-in driver, shared by the tests of all drivers that are shaped like CUDA's.
// SPDX-License-Identifier: MIT
#include "drivers/driver_fixture.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "unit/kernel_shapes.hpp"

namespace salvo::tests {
namespace {

StandIn* find(const Subject& subject, const std::string& name) {
  for (const std::string& file : subject.libraries) {
    void* library = dlopen(file.c_str(), RTLD_NOW);
    if (!library) continue;
    if (void* found = dlsym(library, name.c_str())) return static_cast<StandIn*>(found);
  }
  return nullptr;
}

}  // namespace

void PrintTo(const Subject& subject, std::ostream* out) {
  *out << subject.label;
}

void DriverFixture::SetUp() {
  fake_ = find(subject_, subject_.driver);
  compiler_ = find(subject_, subject_.compiler);
  if (!fake_ || !compiler_) GTEST_SKIP() << "the stand-ins are not in LD_LIBRARY_PATH";
  *fake_ = {};
  *compiler_ = {};
  backend_ = subject_.make();
  auto devices = backend_->open();
  ASSERT_EQ(devices.size(), 1U);
  device_ = std::move(devices.front());
  fake_->call_count = 0;
  compiler_->call_count = 0;
}

void DriverFixture::TearDown() {
  if (!fake_ || !compiler_) return;
  fake_->failing = "";
  device_.reset();
  EXPECT_EQ(fake_->contexts, 0);
  EXPECT_EQ(fake_->modules, 0);
  EXPECT_EQ(fake_->buffers, 0);
  EXPECT_EQ(fake_->streams, 0);
  EXPECT_EQ(fake_->events, 0);
  EXPECT_EQ(fake_->memory_pools, 0);
  EXPECT_EQ(fake_->depth, 0) << "a context was left behind";
}

ir::Kernel DriverFixture::scale() {
  test::Shapes k("scale");
  const auto x = k.span_parameter("x", ir::Element::scalar(ir::Scalar::F32), false);
  const auto by = k.scalar_parameter("by", ir::Scalar::F32);
  const auto i = k.position(ir::Op::GlobalIdx, 0);
  k.store(x, i, k.op(ir::Op::Mul, {k.load(x, i), k.param(by)}));
  return k.finish();
}

std::unique_ptr<runtime::Executable> DriverFixture::built(
    const runtime::TranslateOptions& options) {
  const ir::Kernel kernel = scale();
  return device_->build(kernel, device_->translate(kernel, options), {});
}

std::vector<runtime::Argument> DriverFixture::arguments() {
  std::vector<runtime::Argument> all(2);
  all[0].buffer = {1, 4096, 0x5000};
  all[0].byte_offset = 16;
  all[1].bits = 0x40000000;
  return all;
}

void DriverFixture::launch(runtime::Executable& executable) {
  device_->launch(device_->queue(), executable, {{7, 2, 1}, {128, 1, 1}, 32}, arguments());
}

std::vector<std::string> DriverFixture::calls_of(const std::function<void()>& work) {
  fake_->call_count = 0;
  work();
  std::vector<std::string> calls;
  for (int i = 0; i < fake_->call_count; ++i) {
    const std::string name = fake_->calls[i];
    if (name != "hipGetDevice" && !name.starts_with("cuCtx")) calls.push_back(name);
  }
  return calls;
}

Error DriverFixture::failure(const std::string& function, int status,
                             const std::function<void()>& call) {
  for (StandIn* one : {fake_, compiler_}) {
    one->failing = function.c_str();
    one->status = status;
  }
  const auto heal = [&] { fake_->failing = compiler_->failing = ""; };
  try {
    call();
  } catch (const Error& error) {
    heal();
    return error;
  }
  heal();
  ADD_FAILURE() << function << " failed unnoticed";
  return Error(Errc::io, "nothing was thrown");
}

std::string DriverFixture::refusal(std::vector<std::string> options) {
  try {
    device_->build_source({subject_.language, ".version 7.0 extern \"C\" __global__ void f() {}",
                           "f", std::move(options)});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
    return error.message();
  }
  return {};
}

}  // namespace salvo::tests
