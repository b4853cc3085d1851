// The salvo command: reads the command line and turns failures into exit codes.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <salvo/error.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "input_error.hpp"

namespace salvo::tool {
namespace {

int complain(const char* what, int code) {
  fmt::print(stderr, "salvo: {}\n", what);
  return code;
}

// What the user named does not exist or cannot be read, as opposed to work that failed.
bool is_bad_input(Errc code) {
  return code == Errc::invalid_argument || code == Errc::no_device ||
         code == Errc::bad_environment || code == Errc::io;
}

/// What to say where no command was named, or one that there is not.
std::string no_command(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(one->get_name());
  }
  return fmt::format(
      "{}; there are {}; `salvo --help` says more",
      argc > 1 ? fmt::format("no command '{}'", argv[1]) : "a subcommand is required",
      fmt::join(names, ", "));
}

int run(int argc, char** argv) {
  CLI::App app{"Compute kernels in C++ lambdas, fused at run time"};
  app.require_subcommand(1);
  app.set_version_flag("--version", SALVO_VERSION);

  InfoOptions info_options;
  CLI::App* info_command =
      app.add_subcommand("info", "Devices, backends and environment variables");
  info_command->add_flag("--json", info_options.json, "Print JSON");
  info_command->add_flag("--env", info_options.only_environment, "Environment variables alone");

  DemoOptions demo_options;
  CLI::App* demo_command =
      app.add_subcommand("demo", "Three programs on every device, window off and on, same bits");
  demo_command->add_flag("--json", demo_options.json, "Print JSON");
  demo_command->add_option("--device", demo_options.devices, "Device id such as OpenCL:0");
  demo_command->add_option("--program", demo_options.programs, "two-kernels, adam or pyramid");
  const CLI::Validator named(
      [](const std::string& path) { return path.empty() ? "a path is empty" : std::string(); }, "");
  demo_command->add_option("--image", demo_options.image, "PNG or JPEG picture for the pyramid")
      ->check(named);
  demo_command->add_option("--output", demo_options.output, "Folder for the pyramid's pictures")
      ->capture_default_str()
      ->check(named);
  demo_command
      ->add_option("--make-picture", demo_options.make_picture,
                   "Write the shipped picture to this file and stop")
      ->check(named);

  SourceOptions source_options;
  CLI::App* source_command =
      app.add_subcommand("source", "A demo kernel as IR or as source for a target");
  source_command->add_flag("--json", source_options.json, "Print JSON");
  source_command->add_option("kernel", source_options.kernel, "Kernel; none lists them");
  source_command->add_option("--target", source_options.target, "Backend's name, or ir")
      ->capture_default_str();

  CacheOptions cache_options;
  bool stats = false;
  CLI::App* cache_command = app.add_subcommand("cache", "Compiled kernels that are kept on disk");
  cache_command->add_flag("--json", cache_options.json, "Print JSON");
  CLI::Option_group* choice = cache_command->add_option_group("what");
  choice->add_flag("--stats", stats, "What is there and what came of it (the default)");
  choice->add_flag("--clear", cache_options.clear, "Remove it");
  choice->add_flag("--path", cache_options.path, "Print the folder");
  choice->require_option(0, 1);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help and --version
    if (app.get_subcommands().empty()) {
      return complain(no_command(app, argc, argv).c_str(), kBadInput);
    }
    return complain(e.what(), kBadInput);
  }
  if (info_command->parsed()) return info(info_options);
  if (demo_command->parsed()) return demo(demo_options);
  if (cache_command->parsed()) return cache(cache_options);
  return source(source_options);
}

int run_guarded(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    // What is still buffered may not fit either: the caller must not take a part for all of it.
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    return complain("what it says cannot be written", kFailure);
  } catch (const InputError& e) {
    return complain(e.what(), kBadInput);
  } catch (const Error& e) {
    return complain(e.what(), is_bad_input(e.code()) ? kBadInput : kFailure);
  } catch (const std::exception& e) {
    return complain(e.what(), kFailure);
  }
}

}  // namespace
}  // namespace salvo::tool

int main(int argc, char** argv) {
  return salvo::tool::run_guarded(argc, argv);
}
