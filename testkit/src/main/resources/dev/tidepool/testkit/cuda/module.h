// Modules: code that the simulated compiler made, loaded into one context.
#pragma once

#include "kernel_abi.h"
#include "machine.h"

namespace sim {

struct Module {
  Module(Context* context, void* library, const tidepool_module* code)
      : context(context), library(library), code(code) {}
  ~Module();

  Context* const context;
  void* const library;
  const tidepool_module* const code;
  std::atomic<int> launches{0};  // that have not ended
};

struct Kernel {
  std::shared_ptr<Module> module;
  const tidepool_kernel* code;
  std::atomic<int> shared_most{-1};  // dynamic shared memory, once it was set
};

}  // namespace sim
