// A recording backend for tests: runs kernels for real on the interpreter, notes every driver call,
// and fails the calls it is told to.
// SPDX-License-Identifier: MIT
#include "fake/fake_backend.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/interpreter/interpreter_backend.hpp"

namespace salvo::tests {

std::vector<DriverCall> FakeControl::calls() const {
  const std::lock_guard lock(lock_);
  return calls_;
}

std::size_t FakeControl::count(Driver what) const {
  const std::lock_guard lock(lock_);
  return static_cast<std::size_t>(std::ranges::count(calls_, what, &DriverCall::what));
}

std::vector<std::string> FakeControl::launched() const {
  const std::lock_guard lock(lock_);
  std::vector<std::string> names;
  for (const DriverCall& call : calls_) {
    if (call.what == Driver::launch) names.push_back(call.kernel);
  }
  return names;
}

void FakeControl::clear() {
  const std::lock_guard lock(lock_);
  calls_.clear();
}

void FakeControl::fail(Driver what, std::uint32_t nth, std::string kernel, Errc code) {
  const std::lock_guard lock(lock_);
  faults_.push_back({what, nth, std::move(kernel), code});
}

bool FakeControl::all_faults_struck() const {
  const std::lock_guard lock(lock_);
  return faults_.empty();
}

void FakeControl::note(DriverCall call) {
  const std::lock_guard lock(lock_);
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    if (fault->what != call.what) continue;
    if (!fault->kernel.empty() && call.kernel.find(fault->kernel) == std::string::npos) continue;
    if (--fault->left > 0) continue;
    Error::Details details;
    details.code = fault->code;
    details.backend = "fake";
    details.operation = "injected";
    details.message = "an injected failure";
    faults_.erase(fault);
    throw Error(std::move(details));
  }
  calls_.push_back(std::move(call));
}

namespace {

/// Products that are stored are looked through as well, as a device compiler would.
ir::Kernel contracted(ir::Kernel kernel) {
  for (ir::Block& block : kernel.blocks) {
    for (const ir::ValueId id : block.nodes) {
      ir::Node& sum = kernel.nodes[id];
      if (sum.op != ir::Op::Add || !ir::is_float(sum.type)) continue;
      const ir::Node& product = kernel.nodes[sum.operands[0]];
      if (product.op != ir::Op::Mul) continue;
      sum.op = ir::Op::Fma;
      sum.operands[2] = sum.operands[1];
      sum.operands[1] = product.operands[1];
      sum.operands[0] = product.operands[0];
      sum.operand_count = 3;
    }
  }
  return kernel;
}

/// What a real device compiler would make of a program: bytes that are good for nothing else.
std::vector<std::byte> compile(const runtime::Program& program) {
  const std::string text = "fake machine code of " + program.code;
  std::vector<std::byte> binary(text.size());
  std::memcpy(binary.data(), text.data(), text.size());
  return binary;
}

class FakeExecutable final : public runtime::Executable {
 public:
  FakeExecutable(std::unique_ptr<runtime::Executable> real, std::string name,
                 std::uint32_t max_threads, std::vector<std::byte> binary)
      : inner(std::move(real)),
        kernel(std::move(name)),
        max_threads_(max_threads),
        binary_(std::move(binary)) {}
  std::uint32_t max_threads_per_block() const noexcept override { return max_threads_; }
  std::vector<std::byte> binary() const override { return binary_; }

  const std::unique_ptr<runtime::Executable> inner;
  const std::string kernel;

 private:
  std::uint32_t max_threads_;
  std::vector<std::byte> binary_;
};

class FakeDevice final : public runtime::DeviceDriver {
 public:
  FakeDevice(std::unique_ptr<runtime::DeviceDriver> inner, std::shared_ptr<FakeControl> control,
             const FakeOptions& options, std::uint32_t number)
      : inner_(std::move(inner)),
        control_(std::move(control)),
        options_(options),
        number_(number),
        properties_(inner_->properties()) {
    properties_.name = "Fake";
    properties_.is_cpu = false;
    properties_.exact_arithmetic = !options_.contracts;
    if (options_.adjust) options_.adjust(properties_);
  }

  const DeviceProperties& properties() const noexcept override { return properties_; }

  runtime::Buffer allocate(std::size_t bytes) override {
    note({Driver::allocate, "", {}, bytes});
    return inner_->allocate(bytes);
  }
  void release(runtime::Buffer buffer) noexcept override {
    note({Driver::release, "", {}, buffer.bytes});
    inner_->release(buffer);
  }

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override {
    runtime::Program program = inner_->translate(kernel, options);
    if (options_.rewrite) options_.rewrite(program);
    return program;
  }
  std::unique_ptr<runtime::Executable> build(const ir::Kernel& kernel,
                                             const runtime::Program& program,
                                             std::span<const std::byte> cached) override {
    note({cached.empty() ? Driver::build : Driver::load, kernel.name, {}, 0, 0, program.code});
    std::vector<std::byte> binary = compile(program);
    if (!cached.empty() && !std::ranges::equal(cached, binary)) {
      throw Error(Errc::compile_failed, "this is no binary of that program");
    }
    if (!options_.has_binary) binary.clear();
    const std::uint32_t own = options_.max_threads ? options_.max_threads(kernel) : 0;
    auto real = options_.contracts ? inner_->build(contracted(kernel), program, {})
                                   : inner_->build(kernel, program, {});
    return std::make_unique<FakeExecutable>(std::move(real), kernel.name,
                                            own ? own : properties_.max_threads_per_block,
                                            std::move(binary));
  }
  std::string build_identity() const override { return options_.build_identity; }
  std::uint32_t preferred_block(const runtime::Executable*) const override { return 256; }
  runtime::ParameterCost parameter_cost(const ir::Kernel& kernel) const override {
    if (options_.cost) return options_.cost(kernel);
    runtime::ParameterCost cost;
    for (const ir::Parameter& parameter : kernel.parameters) {
      cost.bytes += parameter.is_span ? 16 : 8;
      cost.slots += parameter.is_span ? 2 : 1;
      cost.push_constant_bytes += parameter.is_span ? 4 : static_cast<std::uint32_t>(
                                                               ir::size_of(parameter.type));
    }
    return cost;
  }

  runtime::Queue& queue() noexcept override { return inner_->queue(); }
  void launch(runtime::Queue& queue, runtime::Executable& executable,
              const runtime::LaunchShape& shape,
              std::span<const runtime::Argument> arguments) override {
    auto& fake = static_cast<FakeExecutable&>(executable);
    note({Driver::launch, fake.kernel, shape, 0});
    inner_->launch(queue, *fake.inner, shape, arguments);
  }
  void write(runtime::Queue& queue, runtime::Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override {
    note({Driver::write, "", {}, bytes});
    inner_->write(queue, to, offset, source, bytes);
  }
  void read(runtime::Queue& queue, void* target, runtime::Buffer from, std::size_t offset,
            std::size_t bytes) override {
    note({Driver::read, "", {}, bytes});
    inner_->read(queue, target, from, offset, bytes);
  }
  void copy(runtime::Queue& queue, runtime::Buffer to, std::size_t to_offset, runtime::Buffer from,
            std::size_t from_offset, std::size_t bytes) override {
    note({Driver::copy, "", {}, bytes});
    inner_->copy(queue, to, to_offset, from, from_offset, bytes);
  }
  void submit(runtime::Queue& queue) override {
    note({Driver::submit, "", {}, 0});
    inner_->submit(queue);
  }
  void finish(runtime::Queue& queue) override {
    note({Driver::finish, "", {}, 0});
    inner_->finish(queue);
  }

 private:
  void note(DriverCall call) {
    call.device = number_;
    control_->note(std::move(call));
  }

  std::unique_ptr<runtime::DeviceDriver> inner_;
  std::shared_ptr<FakeControl> control_;
  FakeOptions options_;
  std::uint32_t number_;
  DeviceProperties properties_;
};

class FakeBackend final : public runtime::Backend {
 public:
  FakeBackend(std::shared_ptr<FakeControl> control, FakeOptions options)
      : control_(std::move(control)), options_(std::move(options)) {}

  std::string_view name() const noexcept override { return options_.backend; }
  bool is_jit() const noexcept override { return options_.jit; }
  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    std::vector<std::unique_ptr<runtime::DeviceDriver>> devices;
    if (options_.missing) {
      unavailable_ = runtime::Unavailable{*options_.missing};
      return devices;
    }
    inner_ = backends::interpreter::make_backend();
    for (std::uint32_t i = 0; i < options_.devices; ++i) {
      devices.push_back(std::make_unique<FakeDevice>(std::move(inner_->open().front()), control_,
                                                     options_, i));
    }
    return devices;
  }
  const std::optional<runtime::Unavailable>& unavailable() const noexcept override {
    return unavailable_;
  }

 private:
  std::shared_ptr<FakeControl> control_;
  FakeOptions options_;
  std::unique_ptr<runtime::Backend> inner_;
  std::optional<runtime::Unavailable> unavailable_;
};

}  // namespace

std::unique_ptr<runtime::Backend> make_fake_backend(std::shared_ptr<FakeControl> control,
                                                    FakeOptions options) {
  return std::make_unique<FakeBackend>(std::move(control), std::move(options));
}

}  // namespace salvo::tests
