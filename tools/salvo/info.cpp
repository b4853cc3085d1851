// `salvo info`: what there is, what is missing and why, and what can be set.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <salvo/salvo.hpp>
#include <string_view>

#include "commands.hpp"
#include "print_json.hpp"
#include "table.hpp"

namespace salvo::tool {
namespace {

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "-";
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
  constexpr std::uint64_t kKibibyte = std::uint64_t{1} << 10U;
  if (bytes >= kMebibyte) return fmt::format("{} MiB", bytes / kMebibyte);
  return fmt::format("{} KiB", bytes / kKibibyte);
}

struct Feature {
  const char* name;
  bool DeviceProperties::*present;
};
constexpr std::array kFeatures{
    Feature{"fp64", &DeviceProperties::fp64},
    Feature{"fp16_storage", &DeviceProperties::fp16_storage},
    Feature{"int64", &DeviceProperties::int64},
    Feature{"atomics_i64", &DeviceProperties::atomics_i64},
    Feature{"atomics_f32", &DeviceProperties::atomics_f32},
    Feature{"atomics_f64", &DeviceProperties::atomics_f64},
    Feature{"warp_operations", &DeviceProperties::warp_operations},
    Feature{"dynamic_shared", &DeviceProperties::dynamic_shared},
    Feature{"fast_fma", &DeviceProperties::fast_fma},
    Feature{"exact_divide_sqrt", &DeviceProperties::exact_divide_sqrt},
    Feature{"denormals_f32", &DeviceProperties::denormals_f32},
    Feature{"exact_arithmetic", &DeviceProperties::exact_arithmetic},
    Feature{"exact_compiler_options", &DeviceProperties::exact_compiler_options},
};

nlohmann::json json_of(const FloatProbe& probe) {
  return {{"measured", probe.measured},
          {"cases", probe.cases},
          {"contracted", probe.contracted},
          {"fma_rounded_once", probe.fma_rounded_once},
          {"narrowing_survives", probe.narrowing_survives}};
}

std::string probe_text(const FloatProbe& probe) {
  if (!probe.measured) return "could not be probed: nothing merges by epilogue without a grant";
  return fmt::format(
      "keeps multiply and add apart in {} of {} cases, rounds fma once in {}, {}",
      probe.cases - probe.contracted, probe.cases, probe.fma_rounded_once,
      probe.narrowing_survives ? "rounds narrow stores" : "does not round narrow stores");
}

std::string text_of(const CooperativeMatrixShape& shape) {
  return fmt::format("{}x{}x{} of {} with {}", shape.m, shape.n, shape.k, ir::name(shape.inputs),
                     ir::name(shape.accumulator));
}

std::vector<std::string> matrices_of(const DeviceProperties& properties) {
  std::vector<std::string> all;
  for (const CooperativeMatrixShape& shape : properties.cooperative_matrices) {
    all.push_back(text_of(shape));
  }
  return all;
}

nlohmann::json json_of(const Device& device) {
  const DeviceProperties& p = device.properties();
  nlohmann::json features = nlohmann::json::object();
  for (const Feature& feature : kFeatures) features[feature.name] = p.*feature.present;
  return {{"id", device.id()},
          {"backend", device.backend()},
          {"name", p.name},
          {"vendor", p.vendor},
          {"driver_version", p.driver_version},
          {"platform", p.platform},
          {"is_cpu", p.is_cpu},
          {"is_integrated", p.is_integrated},
          {"memory_bytes", p.memory_bytes},
          {"max_allocation_bytes", p.max_allocation_bytes},
          {"shared_bytes_per_block", p.shared_bytes_per_block},
          {"parameter_bytes", p.parameter_bytes},
          {"max_threads_per_block", p.max_threads_per_block},
          {"max_block", p.max_block},
          {"max_grid", p.max_grid},
          {"compute_units", p.compute_units},
          {"warp_size", p.warp_size},
          {"store_unit_bytes", p.store_unit_bytes},
          {"features", features},
          {"cooperative_matrices", matrices_of(p)},
          {"float_probe", json_of(device.float_probe())}};
}

void print_devices(const std::vector<Device>& devices) {
  if (devices.empty()) {
    fmt::print("No device was found.\n");
    return;
  }
  Table table({{"device"},
               {"name"},
               {"kind"},
               {"memory", Align::right},
               {"units", Align::right},
               {"shared/block", Align::right},
               {"threads/block", Align::right}});
  for (const Device& device : devices) {
    const DeviceProperties& p = device.properties();
    table.add_row({device.id(), p.name,
                   p.is_cpu          ? "CPU"
                   : p.is_integrated ? "integrated"
                                     : "GPU",
                   size_text(p.memory_bytes), fmt::to_string(p.compute_units),
                   size_text(p.shared_bytes_per_block), fmt::to_string(p.max_threads_per_block)});
  }
  fmt::print("{}\n", table.text());
  for (const Device& device : devices) {
    std::vector<std::string> present;
    for (const Feature& feature : kFeatures) {
      if (device.properties().*feature.present) present.emplace_back(feature.name);
    }
    fmt::print("{} has {}\n", device.id(), fmt::join(present, ", "));
    if (const auto matrices = matrices_of(device.properties()); !matrices.empty()) {
      fmt::print("{} has cooperative matrices {}\n", device.id(), fmt::join(matrices, ", "));
    }
    fmt::print("{} driver {}\n", device.id(), device.properties().driver_version);
    fmt::print("{} {}\n", device.id(), probe_text(device.float_probe()));
  }
}

void print_backends(const std::vector<BackendInfo>& backends) {
  Table table({{"backend"}, {"state"}, {"reason"}});
  for (const BackendInfo& backend : backends) {
    table.add_row({backend.name, backend.available ? "available" : "missing", backend.reason});
  }
  fmt::print("{}", table.text());
}

/// Variables that are set and look like Salvo's, which reads none of that name: misspelt ones.
std::vector<std::string> unread_variables(const std::vector<EnvironmentVariable>& variables) {
  std::vector<std::string> unread;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("SALVO_") &&
        std::ranges::find(variables, name, &EnvironmentVariable::name) == variables.end()) {
      unread.emplace_back(name);
    }
  }
  return unread;
}

void print_environment(const std::vector<EnvironmentVariable>& variables) {
  Table table({{"variable"}, {"values"}, {"now"}, {"effect"}});
  for (const EnvironmentVariable& variable : variables) {
    table.add_row({variable.name, variable.values,
                   variable.current.empty() ? "(unset)" : variable.current, variable.effect});
  }
  fmt::print("{}", table.text());
  for (const std::string& name : unread_variables(variables)) {
    fmt::print("\n{} is set, but Salvo reads no variable of that name\n", name);
  }
}

}  // namespace

int info(const InfoOptions& options) {
  const Runtime& runtime = Runtime::instance();
  if (options.json) {
    nlohmann::json document = nlohmann::json::object();
    if (!options.only_environment) {
      document["devices"] = nlohmann::json::array();
      for (const Device& device : runtime.devices()) document["devices"].push_back(json_of(device));
      document["backends"] = nlohmann::json::array();
      for (const BackendInfo& backend : runtime.backends()) {
        document["backends"].push_back(
            {{"name", backend.name}, {"available", backend.available}, {"reason", backend.reason}});
      }
    }
    document["environment"] = nlohmann::json::array();
    for (const EnvironmentVariable& variable : runtime.environment()) {
      document["environment"].push_back({{"name", variable.name},
                                         {"values", variable.values},
                                         {"current", variable.current},
                                         {"effect", variable.effect}});
    }
    document["unread"] = unread_variables(runtime.environment());
    print_json(document);
    return kSuccess;
  }
  if (!options.only_environment) {
    print_devices(runtime.devices());
    fmt::print("\n");
    print_backends(runtime.backends());
    fmt::print("\n");
  }
  print_environment(runtime.environment());
  return kSuccess;
}

}  // namespace salvo::tool
