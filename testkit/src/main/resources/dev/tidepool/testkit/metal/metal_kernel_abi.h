// What compiled kernels in Metal's language and the simulated Metal tell each other.
#pragma once

#include "kernel_abi.h"

// What a parameter of a kernel is given.
enum tidepool_binding_kind : int {
  TIDEPOOL_BUFFER,
  TIDEPOOL_THREADGROUP_MEMORY,
  TIDEPOOL_THREAD_POSITION_IN_GRID,
  TIDEPOOL_THREAD_POSITION_IN_THREADGROUP,
  TIDEPOOL_THREAD_INDEX_IN_THREADGROUP,
  TIDEPOOL_THREADGROUP_POSITION_IN_GRID,
  TIDEPOOL_THREADS_PER_THREADGROUP,
  TIDEPOOL_DISPATCH_THREADS_PER_THREADGROUP,
  TIDEPOOL_THREADGROUPS_PER_GRID,
  TIDEPOOL_THREADS_PER_GRID,
  TIDEPOOL_THREAD_EXECUTION_WIDTH,
  TIDEPOOL_SIMDGROUP_INDEX_IN_THREADGROUP,
  TIDEPOOL_THREAD_INDEX_IN_SIMDGROUP,
};

struct tidepool_binding {
  tidepool_binding_kind kind;
  unsigned index;
  const char* name;
  bool is_used;
  bool is_constant;  // in the constant address space
  unsigned access;   // MTLBindingAccess
};

// A parameter's type: what a pointer or reference leads to.
struct tidepool_parameter {
  unsigned size;
  unsigned alignment;
  unsigned data_type;  // MTLDataType
  bool is_reference;
};

struct tidepool_metal_kernel {
  tidepool_kernel kernel;
  const tidepool_binding* bindings;
  const tidepool_parameter* types;
  unsigned most_threads;  // of a threadgroup; 0 where the source does not say
  unsigned group_bytes;   // of threadgroup memory that the kernel declares
};

struct tidepool_metal_library {
  unsigned count;
  const tidepool_metal_kernel* const* kernels;
};
#define TIDEPOOL_METAL_LIBRARY_SYMBOL "tidepool_this_library"

constexpr unsigned TIDEPOOL_SIMD_WIDTH = 32;
