// NVRTC for tests: CUDA C compiled by the host's C++ compiler, into a library that the simulated driver
// loads. The ABI is NVRTC's; the compiler's errors are retold in its words, with the source's lines.
//
// TIDEPOOL_CXX names the compiler, TIDEPOOL_SHIM the folder of cuda_shim.h.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "container.h"
#include "cuda_source.h"
#include "host_compiler.h"
#include "ledger.cc"
#include "ledger_control.cc"

// Counts the call and answers an injected failure.
#define ENTER                                                         \
  static sim::Function& this_function = sim::function(__func__);      \
  if (int injected = this_function.count()) {                         \
    return static_cast<nvrtcResult>(injected);                        \
  }

enum nvrtcResult : int {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
  NVRTC_ERROR_INVALID_INPUT = 3,
  NVRTC_ERROR_INVALID_PROGRAM = 4,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
};

struct _nvrtcProgram {
  std::string source;
  std::string name;
  std::vector<std::pair<std::string, std::string>> headers;  // include name, text
  std::string log;
  std::string ptx;
  std::vector<char> cubin;
};
typedef _nvrtcProgram* nvrtcProgram;

namespace {

constexpr int kArchitectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

std::mutex& lock() {
  static std::mutex& instance = *new std::mutex;
  return instance;
}

std::set<nvrtcProgram>& programs() {
  static auto& instance = *new std::set<nvrtcProgram>;
  return instance;
}

bool is_program(nvrtcProgram program) {
  std::lock_guard guard(lock());
  return programs().count(program) == 1;
}

}  // namespace

std::string sim::leaks() {
  std::lock_guard guard(lock());
  std::string text;
  for (nvrtcProgram program : programs()) {
    text += "program of the compiler for " + program->name + "\n";
  }
  return text;
}

// Ends all programs and forgets counts and failures; there are no devices here.
EXPORT void tidepool_sim_reset(int) {
  {
    std::lock_guard guard(lock());
    for (nvrtcProgram program : programs()) {
      delete program;
    }
    programs().clear();
  }
  sim::forget_ledger();
}

namespace {

struct Options {
  int architecture = 75;
  bool real = false;  // sm_ rather than compute_: a cubin is made too
  bool fused = true;
  std::vector<std::string> passed_on;
};

// Options that change nothing here.
constexpr const char* kIgnored[] = {
    "--ftz", "-ftz", "--prec-div", "-prec-div", "--prec-sqrt", "-prec-sqrt",
    "--use_fast_math", "-use_fast_math", "--extra-device-vectorization",
    "--device-as-default-execution-space", "-default-device", "--restrict", "-restrict",
    "--generate-line-info", "-lineinfo", "--device-debug", "-G", "--relocatable-device-code", "-rdc",
    "--maxrregcount", "-maxrregcount", "--disable-warnings", "-w", "--diag-suppress",
    "-diag-suppress", "--dopt", "-dopt", "--modify-stack-limit", "--builtin-move-forward",
    "--std", "-std",
};

// One option, "--name=value"; what is wrong with it, or nothing.
std::string read_option(const std::string& option, Options& options) {
  size_t equals = option.find('=');
  std::string name = option.substr(0, equals);
  std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
  if (name == "--gpu-architecture" || name == "-arch") {
    options.real = value.rfind("sm_", 0) == 0;
    size_t digits = options.real ? 3 : 8;
    bool known = options.real || value.rfind("compute_", 0) == 0;
    options.architecture = known ? atoi(value.c_str() + digits) : 0;
    if (std::find(std::begin(kArchitectures), std::end(kArchitectures), options.architecture) ==
        std::end(kArchitectures)) {
      return "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
    }
  } else if (name == "--fmad" || name == "-fmad") {
    if (value != "true" && value != "false") {
      return "nvrtc: error: invalid value for --fmad (-fmad)\n";
    }
    options.fused = value == "true";
  } else if (name == "--define-macro" || name == "--undefine-macro" || name == "--include-path") {
    std::string flag = name == "--define-macro" ? "-D" : name == "--undefine-macro" ? "-U" : "-I";
    options.passed_on.push_back(flag + value);
  } else if (option.rfind("-D", 0) == 0 || option.rfind("-U", 0) == 0 || option.rfind("-I", 0) == 0) {
    options.passed_on.push_back(option);
  } else if (std::find(std::begin(kIgnored), std::end(kIgnored), name) == std::end(kIgnored)) {
    return "nvrtc: error: unrecognized option " + option + " found\n";
  }
  return "";
}

// "file:3:7: error: what" as "file(3): error: what", and without the lines of the host's compiler about
// its own doings.
std::string retold(const std::string& log) {
  static const std::regex place("(^|\n)([^:\n]+):([0-9]+):[0-9]+: (fatal )?(error|warning): ");
  std::string text = std::regex_replace(log, place, "$1$2($3): $5: ");
  std::string kept;
  size_t errors = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    std::string line = text.substr(at, end - at);
    bool own = line.rfind("compilation terminated", 0) == 0 || line.rfind("In file included", 0) == 0;
    kept += own ? "" : line;
    errors += line.find("): error: ") != std::string::npos ? 1 : 0;
    at = end;
  }
  return errors == 0 ? kept
                     : kept + "\n" + std::to_string(errors) + (errors == 1 ? " error" : " errors") +
                           " detected in the compilation.\n";
}

nvrtcResult compile(_nvrtcProgram& program, const Options& options) {
  sim::Folder folder("tidepool-nvrtc-");
  if (!folder) {
    return NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
  }
  std::set<std::string> given;
  for (const auto& header : program.headers) {
    given.insert(header.first);
  }
  if (auto missing = sim::foreign_include(program.source, given)) {
    program.log = program.name + "(" + std::to_string(missing->line) +
                  "): catastrophic error: cannot open source file \"" + missing->name + "\"\n";
    return NVRTC_ERROR_COMPILATION;
  }
  std::string source = folder.file("source.cc");
  std::string library = folder.file("kernels.so");
  std::string output = folder.file("log");
  std::ofstream(source) << sim::to_host_source(program.source, program.name, options.architecture);
  for (const auto& [name, text] : program.headers) {
    if (name.find('/') == std::string::npos) {
      std::ofstream(folder.file(name)) << text;
    }
  }
  std::vector<std::string> command = {
      TIDEPOOL_CXX, "-std=c++17", "-O1", "-fPIC", "-shared", "-w", "-x", "c++",
      "-fvisibility=hidden", "-fno-gnu-unique", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno",
      "-fdiagnostics-color=never", "-fno-diagnostics-show-caret", "-I" + folder.path(),
      "-I" TIDEPOOL_SHIM, "-DTIDEPOOL_ARCHITECTURE=" + std::to_string(options.architecture),
      "-include", "cuda_shim.h"};
#ifdef __x86_64__
  if (options.fused && __builtin_cpu_supports("fma")) {
    command.insert(command.end(), {"-mfma", "-fexpensive-optimizations"});
  }
#endif
  command.push_back(options.fused ? "-ffp-contract=fast" : "-ffp-contract=off");
  command.insert(command.end(), options.passed_on.begin(), options.passed_on.end());
  command.insert(command.end(), {source, "-o", library});
  bool made = sim::run_program(command, output);
  program.log = retold(sim::contents(output));
  if (!made) {
    return NVRTC_ERROR_COMPILATION;
  }
  std::string code = sim::contents(library);
  std::vector<char> bytes(code.begin(), code.end());
  program.ptx = sim::to_ptx(bytes, options.architecture);
  if (options.real) {
    program.cubin = bytes;
  }
  return NVRTC_SUCCESS;
}

nvrtcResult store(size_t* size, size_t value) {
  if (size == nullptr) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  *size = value;
  return NVRTC_SUCCESS;
}

}  // namespace

EXPORT nvrtcResult nvrtcVersion(int* major, int* minor) {
  ENTER
  if (major == nullptr || minor == nullptr) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int* numArchs) {
  ENTER
  if (numArchs == nullptr) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  *numArchs = static_cast<int>(std::size(kArchitectures));
  return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetSupportedArchs(int* supportedArchs) {
  ENTER
  if (supportedArchs == nullptr) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  std::copy(std::begin(kArchitectures), std::end(kArchitectures), supportedArchs);
  return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram* prog, const char* src, const char* name,
                                      int numHeaders, const char* const* headers,
                                      const char* const* includeNames) {
  ENTER
  if (prog == nullptr || src == nullptr || numHeaders < 0) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  auto program = std::make_unique<_nvrtcProgram>();
  program->source = src;
  program->name = name == nullptr || *name == 0 ? "default_program" : name;
  for (int i = 0; i < numHeaders; i++) {
    program->headers.emplace_back(includeNames[i], headers[i]);
  }
  *prog = program.release();
  std::lock_guard guard(lock());
  programs().insert(*prog);
  return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram* prog) {
  ENTER
  if (prog == nullptr) {
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  {
    std::lock_guard guard(lock());
    if (programs().erase(*prog) == 0) {
      return NVRTC_ERROR_INVALID_PROGRAM;
    }
  }
  delete *prog;
  *prog = nullptr;
  return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram prog, int numOptions, const char* const* options) {
  ENTER
  if (!is_program(prog)) {
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  Options read;
  prog->log.clear();
  prog->ptx.clear();
  prog->cubin.clear();
  for (int i = 0; i < numOptions; i++) {
    prog->log += read_option(options[i], read);
  }
  return prog->log.empty() ? compile(*prog, read) : NVRTC_ERROR_INVALID_OPTION;
}

EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram prog, size_t* ptxSizeRet) {
  ENTER
  if (!is_program(prog) || prog->ptx.empty()) {
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  return store(ptxSizeRet, prog->ptx.size() + 1);
}

EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram prog, char* ptx) {
  ENTER
  if (!is_program(prog) || prog->ptx.empty()) {
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  memcpy(ptx, prog->ptx.c_str(), prog->ptx.size() + 1);
  return NVRTC_SUCCESS;
}

// Where the target was a virtual architecture there is no cubin, and its size is 0.
EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram prog, size_t* cubinSizeRet) {
  ENTER
  if (!is_program(prog)) {
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  return store(cubinSizeRet, prog->cubin.size());
}

EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram prog, char* cubin) {
  ENTER
  if (!is_program(prog) || prog->cubin.empty()) {
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  memcpy(cubin, prog->cubin.data(), prog->cubin.size());
  return NVRTC_SUCCESS;
}

EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram prog, size_t* logSizeRet) {
  ENTER
  if (!is_program(prog)) {
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  return store(logSizeRet, prog->log.size() + 1);
}

EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram prog, char* log) {
  ENTER
  if (!is_program(prog)) {
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  memcpy(log, prog->log.c_str(), prog->log.size() + 1);
  return NVRTC_SUCCESS;
}

EXPORT const char* nvrtcGetErrorString(nvrtcResult result) {
  switch (result) {
    case NVRTC_SUCCESS: return "NVRTC_SUCCESS";
    case NVRTC_ERROR_OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case NVRTC_ERROR_PROGRAM_CREATION_FAILURE: return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case NVRTC_ERROR_INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
    case NVRTC_ERROR_INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
    case NVRTC_ERROR_INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    case NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
    case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE: return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
  }
  return "NVRTC_ERROR unknown";
}
