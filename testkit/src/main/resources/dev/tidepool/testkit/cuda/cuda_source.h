// What of CUDA C the host's compiler has to be helped with: which functions are kernels, and shared
// memory whose size the launch says. Lines stay where they are.
#pragma once

#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace sim {

// The source with blanks for comments and literals, so that words can be searched.
inline std::string without_comments(const std::string& source) {
  std::string text = source;
  enum { kCode, kLine, kBlock, kString, kCharacter } state = kCode;
  for (size_t i = 0; i < text.size(); i++) {
    char c = source[i];
    char next = i + 1 < source.size() ? source[i + 1] : 0;
    bool quoted = state == kString || state == kCharacter;
    if (state == kCode && c == '/' && (next == '/' || next == '*')) {
      state = next == '/' ? kLine : kBlock;
    } else if (state == kCode && (c == '"' || c == '\'')) {
      state = c == '"' ? kString : kCharacter;
      continue;
    } else if (quoted && c == '\\') {
      text[i++] = ' ';
    } else if ((state == kString && c == '"') || (state == kCharacter && c == '\'') ||
               (state == kLine && c == '\n')) {
      state = kCode;
      continue;
    } else if (state == kBlock && c == '*' && next == '/') {
      text[i] = text[i + 1] = ' ';
      i++;
      state = kCode;
      continue;
    }
    if (state != kCode && c != '\n' && !(quoted && c == 'C')) {  // extern "C" stays
      text[i] = ' ';
    }
  }
  return text;
}

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

// The first include of a file that was not given, as the compiler's complaint; it has no others.
inline std::string foreign_include(const std::string& source,
                                   const std::vector<std::pair<std::string, std::string>>& headers) {
  static const std::regex include("(^|\n)[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"]");
  for (std::sregex_iterator match(source.begin(), source.end(), include), end; match != end; ++match) {
    std::string name = (*match)[2];
    bool given = false;
    for (const auto& header : headers) {
      given |= header.first == name;
    }
    if (!given) {
      auto before = source.begin() + match->position(2);
      return "(" + std::to_string(1 + std::count(source.begin(), before, '\n')) +
             "): catastrophic error: cannot open source file \"" + name + "\"\n";
    }
  }
  return "";
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
