// What compiled kernels and a simulated driver tell each other.
#pragma once

#include <cstdint>

struct tidepool_index {
  unsigned x, y, z;
};

// Where a thread of a kernel is; `barrier` waits for the block's other threads.
struct tidepool_place {
  tidepool_index thread;
  tidepool_index block;
  tidepool_index block_size;    // of this block
  tidepool_index launched_size;  // of all blocks but those at the ends of a grid that they do not divide
  tidepool_index grid_size;
  tidepool_index extent;        // threads of the grid
  void* shared;
  void (*barrier)();
};

// What the bytes of an argument are. A number is never moved, even if it looks like an address.
enum tidepool_content : unsigned char {
  kTidepoolNumber,
  kTidepoolPointer,
  kTidepoolStructure,  // whose words may be pointers
};

struct tidepool_kernel {
  const char* name;
  unsigned parameters;
  const unsigned* sizes;             // of the parameters, in bytes
  const tidepool_content* contents;  // of the parameters
  bool barriers;                  // whether threads may wait for each other
  void (*thread)(void** arguments, tidepool_place* place);
  void (*block)(void** arguments, tidepool_place* place);  // all threads of one, where none waits
};

// What a module exports.
struct tidepool_module {
  int architecture;  // 80 for sm_80
  unsigned kernels;
  const tidepool_kernel* const* table;
};
#define TIDEPOOL_MODULE_SYMBOL "tidepool_this_module"
