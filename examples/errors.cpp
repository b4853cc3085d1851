// Where mistakes are reported: while tracing, at the launch call, and when a result is observed.
// SPDX-License-Identifier: MIT
#include <iostream>
#include <salvo/salvo.hpp>
#include <string>

namespace {

int failures = 0;

void check(bool as_expected, const std::string& what) {
  std::cout << (as_expected ? "" : "NOT AS EXPECTED: ") << what << '\n';
  failures += as_expected ? 0 : 1;
}

/// The error that a call throws.
template <class F>
salvo::Error error_of(F&& call) {
  try {
    call();
  } catch (const salvo::Error& error) {
    return error;
  }
  return salvo::Error(salvo::Errc::io, "nothing was thrown");
}

/// A mistake in a kernel is found when it is traced, with its line.
void while_tracing() {
  const auto error = error_of([] {
    salvo::kernel("half_a_barrier", [](salvo::Span<float> x) {
      salvo::if_(salvo::thread_idx_x() < 16, [&] {
        x[0] = 1.0f;
        salvo::barrier();  // not all threads of the block come here
      });
    });
  });
  check(error.code() == salvo::Errc::invalid_kernel && error.kernel_location().known(),
        error.what());
}

/// A mistake in a call is thrown by the call, and nothing is launched.
void at_the_call(const salvo::Device& device) {
  const auto fill = salvo::kernel("fill", [](salvo::Span<float> x) {
    salvo::for_each_thread(x, [&](salvo::Int i) { x[i] = 1.0f; });
  });
  salvo::Vector<float> x(100);
  const auto error = error_of([&] { device.launch(fill, salvo::over(-5), x); });
  check(error.code() == salvo::Errc::invalid_argument && error.launch_location().known(),
        error.what());
  const auto index = error_of([&] { static_cast<void>(x[100].get()); });
  check(index.code() == salvo::Errc::invalid_argument, index.what());
}

/// The Interpreter finds what a GPU would let pass: here an access past the end.
void in_a_kernel() {
  const auto past = salvo::kernel("past", [](salvo::Span<float> x) {
    x[salvo::global_thread_id()] = 1.0f;  // no guard
  });
  salvo::Vector<float> x(100);
  const auto error = error_of([&] {
    salvo::Device::get("Interpreter:0").launch(past, salvo::over(100).block(64), x);
    static_cast<void>(x[0].get());
  });
  check(error.code() == salvo::Errc::check_failed && error.kernel_location().known(), error.what());
}

/// What fails when held launches are issued is thrown by the call that observes. Each failed launch
/// is reported: the first is thrown, the others hang on it.
void when_observed() {
  const auto devices = salvo::Device::by_backend("OpenCL");
  if (devices.empty()) return;
  const salvo::Intrinsic<float(float)> missing("missing", {{"OpenCL", "no_such_function({0})"}});
  const auto make = [&](const std::string& name) {
    return salvo::kernel(name, [&](salvo::Span<float> x) {
      salvo::for_each_thread(x, [&](salvo::Int i) { x[i] = missing(x[i]); });
    });
  };
  const auto first = make("first"), second = make("second");
  salvo::Vector<float> x(100), y(100);
  salvo::window::set_cpu_devices(true);
  devices[0].launch(first, salvo::over(100), x);   // held: no error yet
  devices[0].launch(second, salvo::over(100), y);  // held
  const auto error = error_of([&] { static_cast<void>(x[0].get()); });
  check(error.code() == salvo::Errc::compile_failed && error.kernel() == "first",
        error.message() + ", in " + error.kernel() + ", launched at line " +
            std::to_string(error.launch_location().line));
  check(!error.log().empty(), "the compiler's words are in log()");
  check(error.others().size() == 1 && error.others()[0].kernel() == "second",
        "the second launch's failure is in others()");
}

}  // namespace

int main() {
  while_tracing();
  at_the_call(salvo::Device::best());
  in_a_kernel();
  when_observed();
  return failures == 0 ? 0 : 1;
}
