// W57-W64, W81: what fails, when it is told, and that nothing is lost, doubled or half-marked.
// SPDX-License-Identifier: MIT
#include "caught.hpp"
#include "rules/window_fixture.hpp"

namespace salvo::tests {

using W57Errors = WindowRules;

TEST_F(W57Errors, W57_BadDimsAreRaisedAtTheCallAndLeaveNothingHeldOrMarked) {
  const auto bad = [&](const Dims& dims) {
    return caught([&] { device.launch(twice, dims, x, y, kCount); });
  };
  EXPECT_EQ(bad(over(-1)).message(), "over(-1): negative");
  EXPECT_EQ(bad(grid(1).block(2048)).code(), Errc::invalid_argument);
  EXPECT_EQ(bad(grid(-1)).code(), Errc::invalid_argument);
  EXPECT_EQ(bad(grid(1).shared(1 << 30)).code(), Errc::invalid_argument);
  EXPECT_EQ(bad(grid(1 << 24).block(256)).message(), "more than 2^31 - 1 threads along x");
  EXPECT_EQ(fake.window().stats().submitted, 0U);
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_TRUE(fake.control->calls().empty());
}

TEST_F(W57Errors, W57_DynamicSharedMemoryOfNoSizeIsRaisedAtTheCall) {
  const auto last = kernel("last", [](Span<float> from, Span<float> to, Int n) {
    DynamicShared<float> tile;
    auto i = global_thread_id();
    if_(i < n, [&] {
      tile[thread_idx_x()] = from[i];
      to[i] = tile[thread_idx_x()];
    });
  });
  const auto error = caught([&] { device.launch(last, grid(4).block(250), x, y, kCount); });
  EXPECT_EQ(error.code(), Errc::invalid_argument);
  EXPECT_EQ(error.kernel(), "last");
  EXPECT_EQ(error.message(),
            "its DynamicShared array has no bytes: give their number by .shared(bytes)");
  EXPECT_EQ(fake.window().stats().submitted, 0U);
  device.launch(last, over(0).block(250), x, y, kCount);  // nothing runs
  device.launch(last, grid(4).block(250).shared(1000), x, y, kCount);
  EXPECT_EQ(y[999], 3.0f);
}

TEST(W57Limits, W57_EveryLimitOfABlockAndAGridIsCheckedAtTheCall) {
  FakeRuntime fake{FakeOptions{.adjust = [](DeviceProperties& d) {
    d.max_block = {1024, 512, 64};
    d.max_grid = {1 << 20, 100, 50};
    d.max_threads_per_block = 1024;
  }}};
  const auto idle = kernel("idle", [](Span<float> v) { v[global_thread_id()] = 1.0f; });
  Vector<float> v(10);
  for (const Dims& dims :
       {grid(1).block(1, 1, 65), grid(1).block(1, 513), grid(1).block(1025), grid(1, 101),
        grid(1, 1, 51), grid((1 << 20) + 1), grid(1).block(32, 33)}) {
    try {
      fake.device().launch(idle, dims, v);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_argument);
      EXPECT_EQ(error.kernel(), "idle");
    }
  }
  EXPECT_EQ(fake.window().stats().held, 0U);
}

TEST_F(W57Errors, W57_ScalarsOutOfRangeAreRaisedAtTheCall) {
  const auto error = caught([&] { device.launch(twice, over(1), x, y, std::int64_t{1} << 40); });
  EXPECT_EQ(error.message(), "argument 2 does not fit the parameter's integer type");
  EXPECT_EQ(error.launch_location().line, static_cast<unsigned>(__LINE__ - 2));
}

TEST(W57Capability, W57_AMissingCapabilityIsRaisedAtTheCallByName) {
  FakeRuntime fake{FakeOptions{.adjust = [](DeviceProperties& d) { d.fp64 = false; }}};
  const auto doubles = kernel("doubles", [](Span<double> v) { v[global_thread_id()] = 1.0; });
  Vector<double> v(4);
  try {
    fake.device().launch(doubles, over(4), v);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_EQ(error.message(), "Fake lacks f64");
    EXPECT_EQ(error.kernel(), "doubles");
    EXPECT_NE(error.launch_location().line, 0U);
  }
  EXPECT_EQ(v[0], 0.0);
}

TEST_F(W57Errors, W58_W59_AFailedLaunchIsRaisedByTheObserverWithKernelAndLine) {
  device.launch(twice, over(kCount), x, y, kCount);
  const unsigned line = __LINE__ - 1;
  fake.control->fail(Driver::launch);
  const auto error = caught([&] { static_cast<void>(values(y)); });
  EXPECT_EQ(error.code(), Errc::launch_failed);
  EXPECT_EQ(error.kernel(), "twice");
  EXPECT_EQ(error.launch_location().line, line);
  EXPECT_NE(error.launch_location().file.find("W57_errors_test.cpp"), std::string::npos);
  EXPECT_EQ(fake.window().stats().failed, 1U);
}

TEST_F(W57Errors, W58_TheOtherGroupsAreStillIssuedAndEveryFailureIsReachable) {
  // Three dependent launches; the first and the last fail.
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, y, kCount);
  device.launch(increment, over(kCount), y, kCount);
  fake.control->fail(Driver::launch, 1, "twice");
  fake.control->fail(Driver::launch, 1, "increment", Errc::device_lost);
  const auto error = caught([&] { fake.window().flush(); });
  EXPECT_EQ(error.kernel(), "twice");
  ASSERT_EQ(error.others().size(), 1U);
  EXPECT_EQ(error.others()[0].kernel(), "increment");
  EXPECT_EQ(error.others()[0].code(), Errc::device_lost);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"negate"}));
  EXPECT_EQ(y[0], -3.0f);
  const auto stats = fake.window().stats();
  EXPECT_EQ(stats.submitted, 3U);
  EXPECT_EQ(stats.issued, 1U);
  EXPECT_EQ(stats.failed, 2U);
  EXPECT_EQ(stats.held, 0U);
}

TEST_F(W57Errors, W58_AFailedBuildIsRaisedAtIssue) {
  device.launch(twice, over(kCount), x, y, kCount);
  fake.control->fail(Driver::build, 1, "", Errc::compile_failed);
  EXPECT_EQ(caught([&] { fake.window().flush(); }).code(), Errc::compile_failed);
}

TEST_F(W57Errors, W60_IfRoomCannotBeMadeTheNewLaunchIsNotMade) {
  fake.window().set_limits(1, 8);
  device.launch(twice, over(kCount), x, y, kCount);
  fake.control->clear();
  fake.control->fail(Driver::launch, 1, "twice");
  const auto error = caught([&] { device.launch(negate, over(kCount), y, z, kCount); });
  EXPECT_EQ(error.kernel(), "twice");
  EXPECT_EQ(fake.control->count(Driver::write), 0U);  // neither uploaded
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(z[0], 0.0f);  // nor marked
  EXPECT_EQ(launches(), 0U);
}

TEST_F(W57Errors, W62_AFusedKernelThatFailsToBuildFallsBackAndIsNotTriedAgain) {
  fake.control->fail(Driver::build, 1, "fused");
  for (int round = 0; round < 2; ++round) {
    fake.control->clear();
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), x, z, kCount);
    fake.window().flush();
    EXPECT_EQ(launches(), 2U) << round;
    EXPECT_EQ(y[0], 6.0f);
    EXPECT_EQ(z[0], -3.0f);
  }
  auto stats = fake.window().stats();
  EXPECT_EQ(stats.fallbacks, 1U);
  EXPECT_EQ(stats.fused_groups, 0U);
  EXPECT_EQ(stats.issued, 4U);
  EXPECT_EQ(stats.refusals[Reason::build_failed], 1U);
  EXPECT_EQ(stats.refusals[Reason::failed_before], 1U);
  fake.window().clear_fused_cache();
  fake.control->clear();
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, z, kCount);
  fake.window().flush();
  EXPECT_EQ(launches(), 1U);
}

TEST_F(W57Errors, W62_AFusedKernelThatFailsToLaunchFallsBack) {
  fake.control->fail(Driver::launch, 1, "fused");
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, z, kCount);
  fake.window().flush();
  EXPECT_EQ(launches(), 2U);
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(z[0], -3.0f);
}

TEST_F(W57Errors, W62_MembersAreNotRunAgainOnceTheFusedKernelMayHaveStarted) {
  fake.control->fail_after_start("fused");
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, z, kCount);
  const auto error = caught([&] { fake.window().flush(); });
  EXPECT_EQ(error.kernel(), "twice");
  ASSERT_EQ(error.others().size(), 1U);
  EXPECT_EQ(error.others()[0].kernel(), "negate");
  EXPECT_EQ(launches(), 0U);
  EXPECT_EQ(fake.window().stats().failed, 2U);
  EXPECT_EQ(fake.window().stats().fallbacks, 0U);
}

TEST_F(W57Errors, W63_AMergedPairIsNotRunAgainOnceItMayHaveStarted) {
  fake.window().set_epilogue_enabled(true);
  fake.control->fail_after_start("twice+negate");
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), y, z, kCount);
  const auto error = caught([&] { fake.window().flush(); });
  EXPECT_EQ(error.kernel(), "twice");
  ASSERT_EQ(error.others().size(), 1U);
  EXPECT_EQ(launches(), 0U);
}

TEST(W62Cap, W62_AFusedKernelWhoseOwnCapIsBelowTheBlockFallsBack) {
  FakeRuntime fake{FakeOptions{.max_threads = [](const ir::Kernel& kernel) -> std::uint32_t {
    return kernel.name.starts_with("fused") ? 128 : 0;
  }}};
  Vector<float> x{std::vector<float>(1000, 3.0f)}, y(1000), z(1000);
  const auto twice = scaled("twice", 2.0f), negate = scaled("negate", -1.0f);
  fake.device().launch(twice, over(1000), x, y, 1000);
  fake.device().launch(negate, over(1000), x, z, 1000);
  fake.window().flush();
  EXPECT_EQ(fake.control->count(Driver::launch), 2U);
  EXPECT_EQ(fake.window().stats().fallbacks, 1U);
  EXPECT_EQ(z[999], -3.0f);
}

TEST_F(W57Errors, W62_AMemberThatFailsInTheFallbackIsReportedAndTheOtherIssued) {
  fake.control->fail(Driver::launch, 1, "fused");
  fake.control->fail(Driver::launch, 1, "twice");  // strikes after the one above
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, z, kCount);
  const auto error = caught([&] { fake.window().flush(); });
  EXPECT_EQ(error.kernel(), "twice");
  EXPECT_EQ(z[0], -3.0f);
}

TEST_F(W57Errors, W64_WithTheWindowOffFailuresAreRaisedAtTheLaunch) {
  fake.window().set_enabled(false);
  fake.control->fail(Driver::launch);
  const auto error = caught([&] { device.launch(twice, over(kCount), x, y, kCount); });
  EXPECT_EQ(error.kernel(), "twice");
  EXPECT_NE(error.launch_location().line, 0U);
  EXPECT_EQ(y[0], 0.0f);
  fake.control->fail(Driver::build, 1, "", Errc::compile_failed);
  EXPECT_EQ(caught([&] { device.launch(negate, over(kCount), x, y, kCount); }).code(),
            Errc::compile_failed);
}

TEST_F(W57Errors, W81_AfterASynchronousFailureOutputsHoldTheirBytesAsIfNotLaunched) {
  Vector<float> out{std::vector<float>(kCount, 42.0f)};
  device.launch(twice, over(kCount), x, out, kCount);
  fake.control->fail(Driver::launch);
  EXPECT_THROW(static_cast<void>(values(out)), Error);
  for (float value : values(out)) EXPECT_EQ(value, 42.0f);
}

TEST_F(W57Errors, W57_AFailedUploadOrAllocationIsRaisedAtTheCallAndLeavesNothing) {
  for (const Driver what : {Driver::allocate, Driver::write}) {
    Vector<float> from{std::vector<float>(kCount, 2.0f)};
    Vector<float> to(kCount);
    fake.control->fail(what, 1, "", Errc::transfer_failed);
    const auto error = caught([&] { device.launch(twice, over(kCount), from, to, kCount); });
    EXPECT_EQ(error.code(), Errc::transfer_failed);
    EXPECT_EQ(error.kernel(), "twice");
    EXPECT_EQ(fake.window().stats().held, 0U);
    EXPECT_EQ(to[0], 0.0f);
    device.launch(twice, over(kCount), from, to, kCount);
    EXPECT_EQ(to[0], 4.0f);
  }
}

TEST_F(W57Errors, R5_OutOfMemoryIssuesWhatIsHeldTrimsAndTriesOnceMore) {
  {
    Vector<float> freed(5000);
    device.launch(increment, over(5000), freed, 5000);
  }
  device.launch(twice, over(kCount), x, y, kCount);
  fake.control->fail(Driver::allocate, 1, "", Errc::out_of_memory);
  fake.control->clear();
  Vector<float> more(7000);
  device.launch(increment, over(7000), more, 7000);
  EXPECT_TRUE(fake.control->all_faults_struck());
  EXPECT_EQ(launches(), 1U);                            // what was held, fused
  EXPECT_EQ(fake.control->count(Driver::release), 1U);  // the cached block
  EXPECT_EQ(more[6999], 1.0f);
}

TEST_F(W57Errors, R5_OutOfMemoryForGoodSaysWhatIsInUse) {
  device.launch(twice, over(kCount), x, y, kCount);
  fake.control->fail(Driver::allocate, 1, "", Errc::out_of_memory);
  fake.control->fail(Driver::allocate, 1, "", Errc::out_of_memory);
  Vector<float> more(7000);
  const auto error = caught([&] { device.launch(increment, over(7000), more, 7000); });
  EXPECT_EQ(error.code(), Errc::out_of_memory);
  EXPECT_NE(error.message().find("HIP:0 holds 8192 bytes in vectors"), std::string::npos)
      << error.message();
}

}  // namespace salvo::tests
