// What of Metal's language the host's compiler has to be helped with: which functions are kernels and what
// their parameters are given, and which variables are in threadgroup memory. Lines stay where they are.
//
// What the language does not have, and the host's compiler does, is refused here.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "kernel_source.h"

namespace sim {

struct MetalParameter {
  std::string name;
  std::string kind;  // of tidepool_binding_kind
  unsigned index = 0;
  bool is_constant = false;
  bool is_used = false;
  bool is_read_only = false;
};

struct MetalKernel {
  std::string name;
  std::vector<MetalParameter> parameters;
  bool barriers = false;
  unsigned most_threads = 0;
  unsigned group_bytes = 0;
};

class MetalSource {
 public:
  explicit MetalSource(const std::string& source) : source_(source), code_(without_comments(source)) {
    read();
  }

  // What is wrong with it, in the compiler's words; empty where nothing is.
  const std::string& complaint() const { return complaint_; }
  bool contracts() const { return contracts_; }

  // For the host's compiler.
  std::string text() const {
    static const std::regex variable(
        "\\bthreadgroup(\\s+(?:const\\s+|volatile\\s+)?[A-Za-z_][\\w:]*(?:\\s*<[^;<>]*>)?\\s+[A-Za-z_]\\w*"
        "\\s*"
        "(?:\\[[^\\]]*\\]\\s*)*[;,=])");
    static const std::regex index("\\[\\[\\s*threadgroup\\s*\\(\\s*\\d+\\s*\\)\\s*\\]\\]");
    static const std::regex twice("\\bconst(\\s+)constant\\b|\\bconstant(\\s+)const\\b");
    std::string body = std::regex_replace(source_, variable, "TIDEPOOL_GROUP_VARIABLE$1");
    body = std::regex_replace(body, index, "");  // it was read before, and the word is a macro
    body = std::regex_replace(body, twice, "constant$1$2");
    std::string table;
    std::string names;
    for (const MetalKernel& each : kernels_) {
      std::string bindings = "tidepool_bindings_" + each.name;
      table += "static constexpr tidepool_binding " + bindings + "[] = {";
      for (const MetalParameter& p : each.parameters) {
        table += "{" + p.kind + ", " + std::to_string(p.index) + ", \"" + p.name + "\", " +
                 (p.is_used ? "true" : "false") + ", " + (p.is_constant ? "true" : "false") + ", " +
                 (p.is_read_only ? "MTLBindingAccessReadOnly" : "MTLBindingAccessReadWrite") + "}, ";
      }
      table += "{}};\nstatic constexpr tidepool_metal_kernel tidepool_kernel_" + each.name +
               " = tidepool_metal::Entry<&" + each.name + ", " + bindings + ">::of(\"" + each.name + "\", " +
               (each.barriers ? "true" : "false") + ", " + std::to_string(each.most_threads) + ", " +
               std::to_string(each.group_bytes) + ");\n";
      names += "&tidepool_kernel_" + each.name + ", ";
    }
    return "#line 1 \"program_source\"\n" + body + "\n#line 1 \"kernels\"\n" + table +
           "static constexpr const tidepool_metal_kernel* tidepool_table[] = {" + names +
           "nullptr};\nextern \"C\" __attribute__((visibility(\"default\"))) const tidepool_metal_library "
           "tidepool_this_library = {" +
           std::to_string(kernels_.size()) + ", tidepool_table};\n";
  }

 private:
  void read() {
    static const std::regex contract(
        "#\\s*pragma\\s+(?:METAL\\s+fp\\s+contract\\s*\\(\\s*off\\s*\\)|clang\\s+fp\\s+contract\\s*\\(\\s*"
        "off\\s*\\)|"
        "STDC\\s+FP_CONTRACT\\s+OFF)");
    contracts_ = !std::regex_search(code_, contract);
    const std::set<std::string> headers = {"metal_stdlib",    "metal_math",   "metal_atomic",
                                           "metal_integer",   "metal_common", "metal_compute",
                                           "metal_geometric", "simd/simd.h"};
    if (auto foreign = foreign_include(source_, headers)) {
      complaint_ = "program_source:" + std::to_string(foreign->line) + ":10: fatal error: '" + foreign->name +
                   "' file not found\n";
      return;
    }
    refuse("\\bgoto\\b", "error: 'goto' is not supported in Metal");
    refuse("\\b(?:long\\s+)?double\\b", "error: 'double' is not supported in Metal");
    refuse("\\b(?:virtual|throw|try|dynamic_cast|typeid|asm)\\b", "error: not supported in Metal");
    refuse_plain_pointers();
    if (complaint_.empty()) {
      find_kernels();
    }
  }

  std::string place(std::ptrdiff_t at) const {
    std::ptrdiff_t line = std::count(code_.begin(), code_.begin() + at, '\n');
    size_t start = at == 0 ? std::string::npos : code_.rfind('\n', static_cast<size_t>(at) - 1);
    std::ptrdiff_t column = start == std::string::npos ? at : at - static_cast<std::ptrdiff_t>(start) - 1;
    return "program_source:" + std::to_string(line + 1) + ":" + std::to_string(column + 1) + ": ";
  }

  void refuse(const char* words, const char* why) {
    std::regex word(words);
    for (std::sregex_iterator match(code_.begin(), code_.end(), word), end; match != end; ++match) {
      complaint_ += place(match->position()) + why + ": '" + match->str() + "'\n";
    }
  }

  // Pointers and references say what memory they lead to.
  void refuse_plain_pointers() {
    static const std::regex pointer(
        "\\b(?:float|half|bool|char|uchar|short|ushort|int|uint|long|ulong|void|size_t|float[234]|int[234]|"
        "uint[234]|"
        "atomic_int|atomic_uint)(?:\\s+const)?\\s*[*&](?![&=])\\s*(?:const\\b|restrict\\b)?\\s*(?:[A-Za-z_]|"
        "\\))");
    static const std::regex space("\\b(?:device|constant|threadgroup|thread)\\b");
    for (std::sregex_iterator match(code_.begin(), code_.end(), pointer), end; match != end; ++match) {
      auto at = static_cast<size_t>(match->position());
      size_t from = at == 0 ? std::string::npos : code_.find_last_of("(),;{}<", at - 1);
      std::string before =
          code_.substr(from == std::string::npos ? 0 : from, at - (from == std::string::npos ? 0 : from));
      if (!std::regex_search(before, space)) {
        complaint_ +=
            place(match->position()) + "error: pointer type must have explicit address space qualifier\n";
      }
    }
  }

  // The position behind what closes the bracket at that position.
  size_t close(size_t open) const {
    char opening = code_[open];
    char closing = opening == '(' ? ')' : opening == '{' ? '}' : ']';
    int depth = 0;
    for (size_t i = open; i < code_.size(); i++) {
      depth += code_[i] == opening ? 1 : code_[i] == closing ? -1 : 0;
      if (depth == 0) {
        return i + 1;
      }
    }
    return code_.size();
  }

  void find_kernels() {
    static const std::regex start(
        "(?:\\bkernel\\b|\\[\\[\\s*kernel\\s*\\]\\])\\s+((?:\\[\\[[^\\]]*\\]\\]\\s*)*)void\\s+((?:\\[\\[[^\\]"
        "]*\\]\\]\\s*)*)"
        "([A-Za-z_]\\w*)\\s*\\(");
    static const std::regex most("max_total_threads_per_threadgroup\\s*\\(\\s*(\\d+)\\s*\\)");
    std::string others = code_;  // what is in no kernel
    std::vector<std::string> bodies;
    for (std::sregex_iterator match(code_.begin(), code_.end(), start), end; match != end; ++match) {
      size_t open = static_cast<size_t>(match->position() + match->length()) - 1;
      size_t after = close(open);
      size_t brace = code_.find_first_not_of(" \t\n\r", after);
      if (brace == std::string::npos || code_[brace] != '{') {
        continue;  // a declaration
      }
      size_t stop = close(brace);
      MetalKernel kernel;
      kernel.name = (*match)[3];
      std::string body = code_.substr(brace, stop - brace);
      std::string attributes = (*match)[1].str() + (*match)[2].str();
      std::smatch number;
      if (std::regex_search(attributes, number, most)) {
        kernel.most_threads = static_cast<unsigned>(std::stoul(number[1]));
      }
      kernel.group_bytes = group_bytes(body);
      read_parameters(kernel, open + 1, after - 1, body);
      std::fill(others.begin() + static_cast<std::ptrdiff_t>(brace),
                others.begin() + static_cast<std::ptrdiff_t>(stop), ' ');
      bodies.push_back(body);
      kernels_.push_back(kernel);
    }
    bool everywhere = others.find("threadgroup_barrier") != std::string::npos;
    for (size_t i = 0; i < kernels_.size(); i++) {
      kernels_[i].barriers = everywhere || bodies[i].find("threadgroup_barrier") != std::string::npos;
    }
  }

  // Variables of one of the language's types with a number for a size; others are not counted.
  static unsigned group_bytes(const std::string& body) {
    static const std::regex variable(
        "\\bthreadgroup\\s+(u?char|bool|half|u?short|float|u?int|atomic_u?int|u?long|float4)\\s+[A-Za-z_]\\w*"
        "\\s*"
        "((?:\\[\\s*\\d+\\s*\\]\\s*)*)[;,=]");
    static const std::regex digits("\\d+");
    unsigned bytes = 0;
    for (std::sregex_iterator match(body.begin(), body.end(), variable), end; match != end; ++match) {
      std::string type = (*match)[1];
      unsigned size = type.find("char") != std::string::npos || type == "bool"    ? 1
                      : type.find("short") != std::string::npos || type == "half" ? 2
                      : type.find("long") != std::string::npos                    ? 8
                      : type == "float4"                                          ? 16
                                                                                  : 4;
      std::string extents = (*match)[2];
      for (std::sregex_iterator n(extents.begin(), extents.end(), digits); n != end; ++n) {
        size *= static_cast<unsigned>(std::stoul(n->str()));
      }
      bytes += size;
    }
    return bytes;
  }

  void read_parameters(MetalKernel& kernel, size_t from, size_t to, const std::string& body) {
    int depth = 0;
    size_t start = from;
    for (size_t i = from; i <= to; i++) {
      char c = i == to ? ',' : code_[i];
      depth += c == '(' || c == '[' || c == '<' ? 1 : c == ')' || c == ']' || c == '>' ? -1 : 0;
      if (c == ',' && depth == 0) {
        std::string text = code_.substr(start, i - start);
        if (text.find_first_not_of(" \t\n\r") != std::string::npos) {
          read_parameter(kernel, text, start, body);
        }
        start = i + 1;
      }
    }
    give_indices(kernel);
  }

  void read_parameter(MetalKernel& kernel, const std::string& text, size_t at, const std::string& body) {
    static const std::regex form(
        "([A-Za-z_]\\w*)\\s*(?:\\[\\[\\s*([a-z_]+)\\s*(?:\\(\\s*(\\d+)\\s*\\))?\\s*\\]\\])?\\s*$");
    std::smatch match;
    if (!std::regex_search(text, match, form)) {
      complaint_ += place(static_cast<std::ptrdiff_t>(at)) + "error: a parameter of kernel '" + kernel.name +
                    "' that the simulated compiler does not read\n";
      return;
    }
    std::string attribute = match[2];
    std::string type = text.substr(0, static_cast<size_t>(match.position(0)));
    bool memory = type.find_first_of("*&") != std::string::npos;
    MetalParameter p;
    p.name = match[1];
    p.is_used = std::regex_search(body, std::regex("\\b" + p.name + "\\b"));
    bool group = std::regex_search(type, std::regex("\\bthreadgroup\\b"));
    p.is_constant = std::regex_search(type, std::regex("\\bconstant\\b"));
    if (memory) {
      bool fits = attribute.empty() || attribute == (group ? "threadgroup" : "buffer");
      if (!fits) {
        complaint_ += place(static_cast<std::ptrdiff_t>(at)) + "error: attribute '" + attribute +
                      "' does not fit parameter '" + p.name + "'\n";
      }
      p.kind = group ? "TIDEPOOL_THREADGROUP_MEMORY" : "TIDEPOOL_BUFFER";
      p.index = match[3].matched ? static_cast<unsigned>(std::stoul(match[3])) : kUnset;
      p.is_read_only = p.is_constant || std::regex_search(type, std::regex("\\bconst\\b"));
    } else if (is_builtin(attribute)) {
      for (char c : "TIDEPOOL_" + attribute) {
        p.kind += static_cast<char>(toupper(c));
      }
      if (attribute == "threads_per_simdgroup") {
        p.kind = "TIDEPOOL_THREAD_EXECUTION_WIDTH";
      }
    } else {
      complaint_ += place(static_cast<std::ptrdiff_t>(at)) +
                    "error: invalid type or attribute for input declaration '" + p.name +
                    "' in a kernel function\n";
    }
    kernel.parameters.push_back(p);
  }

  static bool is_builtin(const std::string& attribute) {
    static const std::set<std::string> known = {
        "thread_position_in_grid",     "thread_position_in_threadgroup",
        "thread_index_in_threadgroup", "threadgroup_position_in_grid",
        "threads_per_threadgroup",     "dispatch_threads_per_threadgroup",
        "threadgroups_per_grid",       "threads_per_grid",
        "thread_execution_width",      "simdgroup_index_in_threadgroup",
        "thread_index_in_simdgroup",   "threads_per_simdgroup"};
    return known.count(attribute) == 1;
  }

  // Memory without an index gets the lowest that is free, and no index is given twice.
  void give_indices(MetalKernel& kernel) {
    for (const char* kind : {"TIDEPOOL_BUFFER", "TIDEPOOL_THREADGROUP_MEMORY"}) {
      std::set<unsigned> taken;
      for (const MetalParameter& p : kernel.parameters) {
        if (p.kind == kind && p.index != kUnset && !taken.insert(p.index).second) {
          complaint_ += "program_source:1:1: error: index " + std::to_string(p.index) + " of kernel '" +
                        kernel.name + "' is given twice\n";
        }
      }
      for (MetalParameter& p : kernel.parameters) {
        for (unsigned i = 0; p.kind == kind && p.index == kUnset; i++) {
          p.index = taken.insert(i).second ? i : kUnset;
        }
      }
    }
  }

  static constexpr unsigned kUnset = 1000;

  std::string source_;
  std::string code_;
  std::string complaint_;
  bool contracts_ = true;
  std::vector<MetalKernel> kernels_;
};

}  // namespace sim
