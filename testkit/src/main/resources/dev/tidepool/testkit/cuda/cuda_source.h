// What of CUDA C the host's compiler has to be helped with: which functions are kernels, and shared
// memory whose size the launch says. Lines stay where they are.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "kernel_source.h"

namespace sim {

// The names of the kernels that can be found by name: those with C linkage.
inline std::vector<std::string> kernel_names(const std::string& code) {
  static const std::regex word(
      "\\bextern\\s*\"C\"\\s*(\\{)?|[{}]|\\b__global__\\b|\\b__launch_bounds__\\s*\\([^)]*\\)|"
      "([A-Za-z_][A-Za-z_0-9]*)\\s*\\(");
  std::vector<std::string> names;
  int depth = 0;
  int linkage_depth = -1;  // of the braces of extern "C" { }
  bool linkage = false;    // extern "C" before one declaration
  bool global = false;
  for (std::sregex_iterator match(code.begin(), code.end(), word), end; match != end; ++match) {
    std::string text = match->str();
    if (text.rfind("extern", 0) == 0) {
      if ((*match)[1].matched) {
        linkage_depth = linkage_depth < 0 ? depth : linkage_depth;
        depth++;
      } else {
        linkage = true;
      }
    } else if (text == "{") {
      depth++;
    } else if (text == "}") {
      depth--;
      linkage_depth = depth == linkage_depth ? -1 : linkage_depth;
    } else if (text == "__global__") {
      global = true;
    } else if ((*match)[2].matched) {
      if (global && (linkage || linkage_depth >= 0)) {
        std::string name = (*match)[2];
        bool known = false;
        for (const std::string& other : names) {
          known |= other == name;  // declared before
        }
        if (!known) {
          names.push_back(name);
        }
      }
      global = linkage = false;
    }
  }
  return names;
}

inline std::string to_host_source(const std::string& source, const std::string& name,
                                  int architecture) {
  // extern __shared__ float tile[];  is a pointer to what the launch set aside.
  static const std::regex dynamic(
      "\\bextern\\s+__shared__\\s+(?:__align__\\s*\\([^)]*\\)\\s*)?([A-Za-z_][A-Za-z_0-9 ]*?)\\s*"
      "\\b([A-Za-z_][A-Za-z_0-9]*)\\s*\\[\\s*\\]\\s*;");
  std::string code = without_comments(source);
  std::string table;
  bool barriers = code.find("__syncthreads") != std::string::npos;
  std::vector<std::string> names = kernel_names(code);
  for (const std::string& kernel : names) {
    table += "static constexpr tidepool_kernel tidepool_kernel_" + kernel + " = tidepool_sim::Entry<&" +
             kernel + ">::of(\"" + kernel + "\", " + (barriers ? "true" : "false") + ");\n";
  }
  table += "static constexpr const tidepool_kernel* tidepool_table[] = {";
  for (const std::string& kernel : names) {
    table += "&tidepool_kernel_" + kernel + ", ";
  }
  table += "nullptr};\nextern \"C\" __attribute__((visibility(\"default\"))) const tidepool_module "
           "tidepool_this_module = {" +
           std::to_string(architecture) + ", " + std::to_string(names.size()) + ", tidepool_table};\n";
  return "#line 1 \"" + name + "\"\n" +
         std::regex_replace(source, dynamic, "$1* $2 = static_cast<$1*>(tidepool_sim::here->shared);") +
         "\n#line 1 \"kernels of " + name + "\"\n" + table;
}

}  // namespace sim
