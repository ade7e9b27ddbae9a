#include "environment.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "ledger.h"

namespace sim {

void configure_as(const char* variable, void (*make)(int devices),
                  bool (*set)(int device, const std::string& name, int64_t value)) {
  const char* text = getenv(variable);
  std::istringstream settings(text == nullptr ? "" : text);
  std::vector<std::pair<std::string, int64_t>> pairs;
  int devices = 1;
  for (std::string setting; settings >> setting;) {
    size_t equals = setting.find('=');
    std::string name = setting.substr(0, equals);
    int64_t value = equals == std::string::npos ? 1 : atoll(setting.c_str() + equals + 1);
    if (name == "devices") {
      devices = static_cast<int>(value);
    } else {
      pairs.emplace_back(name, value);
    }
  }
  make(devices);  // first: the other settings are theirs
  for (const auto& [name, value] : pairs) {
    size_t dot = name.find('.');
    bool numbered = dot != std::string::npos && isdigit(name[0]) != 0;
    if (!set(numbered ? atoi(name.c_str()) : -1, numbered ? name.substr(dot + 1) : name, value)) {
      fprintf(stderr, "%s: there is no %s\n", variable, name.c_str());
    }
  }
}

void report_to(const char* variable, const char* ended) {
  const char* path = getenv(variable);
  FILE* file = path == nullptr ? nullptr : fopen(path, "a");
  if (file == nullptr) {
    return;
  }
  fputs(violations().c_str(), file);
  std::istringstream lines(leaks());
  for (std::string line; std::getline(lines, line);) {
    fprintf(file, "not %s at exit: %s\n", ended, line.c_str());
  }
  fclose(file);
}

}  // namespace sim
