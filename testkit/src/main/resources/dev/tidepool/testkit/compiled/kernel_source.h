// What can be read from the source of kernels before it is compiled.
#pragma once

#include <algorithm>
#include <optional>
#include <regex>
#include <set>
#include <string>

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

// A line of an include.
struct Include {
  std::string name;
  std::ptrdiff_t line;
};

// The first include of a file that is not among those; none, where all are.
inline std::optional<Include> foreign_include(const std::string& source,
                                              const std::set<std::string>& headers) {
  static const std::regex include("(^|\n)[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"]");
  for (std::sregex_iterator match(source.begin(), source.end(), include), end; match != end; ++match) {
    std::string name = (*match)[2];
    if (headers.count(name) == 0) {
      auto before = source.begin() + match->position(2);
      return Include{name, 1 + std::count(source.begin(), before, '\n')};
    }
  }
  return std::nullopt;
}

}  // namespace sim
