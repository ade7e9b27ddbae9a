// Compiles Metal's language by the host's C++ compiler. Libraries are kept loaded, and on disk for the next
// process: in a folder beside the simulated Metal, of which TIDEPOOL_HOME is the path. TIDEPOOL_CXX names
// the compiler.

#include <dlfcn.h>

#include <filesystem>

#include "host_compiler.h"
#include "library.h"
#include "metal_source.h"

namespace sim {
namespace kernel_cache {

constexpr size_t kMostFiles = 4000;

struct Cache {
  std::mutex lock;
  bool pruned = false;
  std::map<std::string, const tidepool_metal_library*> loaded;  // by path
};

Cache& cache() {
  static Cache& instance = *new Cache;
  return instance;
}

// FNV-1a, from two starts.
std::string hash(const std::string& text) {
  uint64_t sums[] = {0xCBF29CE484222325, 0x9E3779B97F4A7C15};
  char digits[40];
  for (uint64_t& sum : sums) {
    for (unsigned char c : text) {
      sum = (sum ^ c) * 0x100000001B3;
    }
  }
  snprintf(digits, sizeof digits, "%016lx%016lx", sums[0], sums[1]);
  return digits;
}

// Deletes all libraries where there are too many.
void prune(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::create_directory(folder, ignored);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    files.push_back(entry.path());
  }
  for (size_t i = 0; files.size() > kMostFiles && i < files.size(); i++) {
    std::filesystem::remove(files[i], ignored);
  }
}

std::vector<std::string> command(bool contracts, bool fast_math, bool precise_functions) {
  std::vector<std::string> words = {TIDEPOOL_CXX,
                                    "-std=c++20",
                                    "-O1",
                                    "-fPIC",
                                    "-shared",
                                    "-w",
                                    "-x",
                                    "c++",
                                    "-fvisibility=hidden",
                                    "-fno-gnu-unique",
                                    "-fwrapv",
                                    "-fno-strict-aliasing",
                                    "-fno-math-errno",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-fdiagnostics-color=never",
                                    "-fno-diagnostics-show-caret",
                                    "-I" TIDEPOOL_HOME};
#ifdef __x86_64__
  if (contracts && __builtin_cpu_supports("fma")) {
    words.insert(words.end(), {"-mfma", "-fexpensive-optimizations"});
  }
#endif
  words.push_back(contracts ? "-ffp-contract=fast" : "-ffp-contract=off");
  if (fast_math) {
    // Not -ffast-math, which changes the floating-point unit of the whole process when it is loaded.
    words.insert(words.end(), {"-ffinite-math-only", "-fno-signed-zeros", "-fno-trapping-math",
                               "-freciprocal-math", "-fassociative-math"});
  }
  words.push_back(std::string("-DTIDEPOOL_FUNCTIONS=") + (precise_functions ? "precise" : "fast"));
  words.insert(words.end(), {"-include", "metal_prelude.h", "-include", "metal_entry.h"});
  return words;
}

// Errors with their lines; what the host's compiler says about its own doings is left out.
std::string retold(const std::string& log) {
  std::string of_source;
  std::string others;
  for (size_t at = 0; at < log.size();) {
    size_t end = std::min(log.find('\n', at), log.size() - 1) + 1;
    std::string line = log.substr(at, end - at);
    if (line.find(": error: ") != std::string::npos || line.find(": fatal error: ") != std::string::npos) {
      (line.rfind("program_source:", 0) == 0 ? of_source : others) += line;
    }
    at = end;
  }
  return !of_source.empty() ? of_source : !others.empty() ? others : log;
}

const tidepool_metal_library* load(const std::string& path) {
  void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return loaded == nullptr
             ? nullptr
             : static_cast<const tidepool_metal_library*>(dlsym(loaded, TIDEPOOL_METAL_LIBRARY_SYMBOL));
}

// Compiles to that path; what went wrong, or nothing.
std::string make(std::vector<std::string> words, const std::string& text, const std::string& path) {
  Folder folder("tidepool-metal-");
  if (!folder) {
    return "program_source:1:1: error: no folder for temporary files\n";
  }
  std::string source = folder.file("source.cc");
  std::string library = folder.file("kernels.so");
  std::string output = folder.file("log");
  std::ofstream(source) << text;
  words.insert(words.end(), {source, "-o", library});
  if (!run_program(words, output)) {
    return retold(contents(output));
  }
  // Appears under its name whole; another process may have been first, with the same result.
  std::error_code failed;
  std::string arriving = path + "." + std::to_string(getpid());
  std::filesystem::copy_file(library, arriving, std::filesystem::copy_options::overwrite_existing, failed);
  std::filesystem::rename(arriving, path, failed);
  return failed ? "program_source:1:1: error: " + failed.message() + "\n" : "";
}

}  // namespace kernel_cache

const tidepool_metal_library* compile(const std::string& source, bool fast_math, bool precise_functions,
                                      std::string& complaint) {
  using namespace kernel_cache;
  MetalSource read(source);
  complaint = read.complaint();
  if (!complaint.empty()) {
    return nullptr;
  }
  std::string text = read.text();
  std::vector<std::string> words = command(read.contracts(), fast_math, precise_functions);
  std::string key = text;
  for (const std::string& word : words) {
    key += '\0' + word;
  }
  std::filesystem::path folder = std::filesystem::path(TIDEPOOL_HOME) / "kernels";
  std::string path = folder / (hash(key) + ".so");
  {
    std::lock_guard guard(cache().lock);
    if (!cache().pruned) {
      prune(folder);
      cache().pruned = true;
    }
    auto found = cache().loaded.find(path);
    if (found != cache().loaded.end()) {
      return found->second;
    }
  }
  if (!std::filesystem::exists(path)) {
    complaint = make(words, text, path);
    if (!complaint.empty()) {
      return nullptr;
    }
  }
  const tidepool_metal_library* library = load(path);
  if (library == nullptr) {
    const char* why = dlerror();
    complaint = std::string("program_source:1:1: error: ") + (why == nullptr ? "no library" : why) + "\n";
    return nullptr;
  }
  std::lock_guard guard(cache().lock);
  cache().loaded[path] = library;
  return library;
}

}  // namespace sim
