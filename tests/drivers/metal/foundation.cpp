// The stand-in's strings, arrays and errors, and what a test chose of the driver.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>

#include <fmt/format.h>

#include "drivers/metal/objects.hpp"

namespace salvo::test::metal {
namespace {

/// "3.1" as 3 << 16 | 1.
std::uint32_t version_of(const std::string& text) {
  const std::size_t dot = text.find('.');
  const auto number = [](const std::string& digits) {
    return static_cast<std::uint32_t>(std::stoul(digits));
  };
  return number(text.substr(0, dot)) << 16 | number(text.substr(dot + 1));
}

Knobs from_environment() {
  Knobs knobs;
  const char* const words = std::getenv("SALVO_TEST_METAL");
  std::istringstream stream(words ? words : "");
  for (std::string word; std::getline(stream, word, ',');) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    if (name == "unified") knobs.unified_memory = value != "0";
    if (name == "warp") knobs.warp_operations = value != "0";
    if (name == "contracts") knobs.contracts = value != "0";
    if (name == "flushes") knobs.flushes = value != "0";
    if (name == "language") knobs.language_version = version_of(value);
    if (name == "math") {
      knobs.math = value == "none"   ? MathOptions::none
                   : value == "fast" ? MathOptions::fast
                                     : MathOptions::mode;
    }
  }
  return knobs;
}

}  // namespace

Knobs& driver_knobs() {
  static Knobs& knobs = *new Knobs(from_environment());
  return knobs;
}

void define_classes() {
  static std::once_flag once;
  std::call_once(once, [] {
    define_foundation();
    define_device();
    define_commands();
  });
}

void define_foundation() {
  class_of("NSString")
      .class_method("stringWithUTF8String:",
                    [](Class*, Selector, const char* text) -> Object* {
                      // Nil for what is not UTF-8, of which 0xff is never a part.
                      if (std::strchr(text, '\xff')) return nullptr;
                      return autorelease(new String(text));
                    })
      .method("UTF8String", [](String* self, Selector) { return self->text.c_str(); });
  class_of("NSArray")
      .method("count", [](Array* self, Selector) -> unsigned long { return self->items.size(); })
      .method("objectAtIndex:", [](Array* self, Selector, unsigned long index) -> Object* {
        return self->items.at(index).get();
      });
  class_of("NSError")
      .method("code", [](ErrorObject* self, Selector) { return self->code; })
      .method("localizedDescription", [](ErrorObject* self, Selector) -> Object* {
        return autorelease(new String(self->description));
      });
  static Object& process = *new Object(class_of("NSProcessInfo"));
  class_of("NSProcessInfo")
      .class_method("processInfo", [](Class*, Selector) -> Object* { return &process; })
      .method("operatingSystemVersionString", [](Object*, Selector) -> Object* {
        // What is measured of one driver is not kept for another (W53).
        const char* const words = std::getenv("SALVO_TEST_METAL");
        return autorelease(new String(fmt::format("stand-in({})", words ? words : "")));
      });
}

}  // namespace salvo::test::metal
