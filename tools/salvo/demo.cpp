// `salvo demo`: three programs on every device, window off and on, with the same bits.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "commands.hpp"
#include "demo_measure.hpp"
#include "demo_program.hpp"
#include "input_error.hpp"
#include "print_json.hpp"
#include "scene.hpp"
#include "table.hpp"

namespace salvo::tool {
namespace {

constexpr std::array kProgramNames{"two-kernels", "adam", "pyramid"};

std::vector<Device> chosen_devices(const std::vector<std::string>& ids) {
  if (ids.empty()) {
    std::vector<Device> all = Device::all();
    if (all.empty()) throw InputError("no device was found; `salvo info` says why");
    return all;
  }
  std::vector<Device> devices;
  for (const std::string& id : ids) devices.push_back(Device::get(id));
  return devices;
}

std::set<std::string> chosen_programs(const std::vector<std::string>& names) {
  if (names.empty()) return {kProgramNames.begin(), kProgramNames.end()};
  for (const std::string& name : names) {
    if (std::find(kProgramNames.begin(), kProgramNames.end(), name) == kProgramNames.end()) {
      throw InputError(
          fmt::format("no demo program '{}'; there are {}", name, fmt::join(kProgramNames, ", ")));
    }
  }
  return {names.begin(), names.end()};
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw InputError(fmt::format("{}: {}", folder.string(), failure.message()));
}

nlohmann::json json_of(const DemoRow& row) {
  return {{"device", row.device},
          {"program", row.program},
          {"planner", row.planner},
          {"submitted", row.submitted},
          {"issued", row.issued},
          {"fused_groups", row.fused_groups},
          {"microseconds_per_launch_off", row.microseconds_off},
          {"microseconds_per_launch_on", row.microseconds_on},
          {"same_bits", row.same_bits},
          {"problem", row.problem}};
}

std::string table_of(const std::vector<DemoRow>& rows) {
  Table table({{"device"},
               {"program"},
               {"planner"},
               {"submitted", Align::right},
               {"issued", Align::right},
               {"fused_groups", Align::right},
               {"µs/launch off", Align::right},
               {"µs/launch on", Align::right},
               {"same bits"}});
  for (const DemoRow& row : rows) {
    table.add_row({row.device, row.program, row.planner, fmt::to_string(row.submitted),
                   fmt::to_string(row.issued), fmt::to_string(row.fused_groups),
                   fmt::format("{:.2f}", row.microseconds_off),
                   fmt::format("{:.2f}", row.microseconds_on), row.same_bits ? "yes" : "NO"});
  }
  return table.text();
}

}  // namespace

int demo(const DemoOptions& options) {
  if (!options.make_picture.empty()) {
    write_png(options.make_picture, make_scene(kSceneWidth, kSceneHeight));
    return kSuccess;
  }

  // Everything the user gave is looked at before the long work starts.
  const std::set<std::string> names = chosen_programs(options.programs);
  const Picture picture = options.image.empty() ? decode_picture(scene_png(), "the shipped picture")
                                                : read_picture(options.image);
  const std::vector<Device> devices = chosen_devices(options.devices);
  if (names.contains("pyramid")) make_folder(options.output);

  std::vector<DemoRow> rows;
  std::vector<std::filesystem::path> files;
  const auto run_everywhere = [&](DemoProgram& program) {
    fmt::print(stderr, "{}: {}\n", program.name(), program.description());
    for (const Device& device : devices) {
      for (DemoRow& row : measure(program, device)) rows.push_back(std::move(row));
    }
  };
  if (names.contains("two-kernels")) run_everywhere(*make_two_kernels());
  if (names.contains("adam")) run_everywhere(*make_adam());
  if (names.contains("pyramid")) {
    const std::unique_ptr<PyramidProgram> pyramid = make_pyramid(picture);
    run_everywhere(*pyramid);
    files = pyramid->write_pictures(options.output);
  }

  const bool good = std::all_of(rows.begin(), rows.end(), [](const DemoRow& row) {
    return row.same_bits && row.problem.empty();
  });
  if (options.json) {
    nlohmann::json document{{"rows", nlohmann::json::array()},
                            {"pictures", nlohmann::json::array()}};
    for (const DemoRow& row : rows) document["rows"].push_back(json_of(row));
    for (const auto& file : files) document["pictures"].push_back(file.string());
    document["good"] = good;
    print_json(document);
  } else {
    for (const Device& device : devices) {
      fmt::print("{}  {}\n", device.id(), device.properties().name);
    }
    fmt::print("\n{}", table_of(rows));
    if (!files.empty()) fmt::print("\n{} pictures in {}\n", files.size(), options.output);
  }
  for (const DemoRow& row : rows) {
    if (!row.same_bits) {
      fmt::print(stderr, "{} {}, planner {}: the window changed the result\n", row.device,
                 row.program, row.planner);
    }
    if (!row.problem.empty()) {
      fmt::print(stderr, "{} {}: {}\n", row.device, row.program, row.problem);
    }
  }
  return good ? kSuccess : kFailure;
}

}  // namespace salvo::tool
