// Runs a kernel over a grid of blocks, on several host threads where it pays.
#pragma once

#include "kernel_abi.h"

namespace sim {

struct Grid {
  tidepool_index blocks;
  tidepool_index threads;  // of one block
  unsigned shared_bytes;
  tidepool_index extent = {0, 0, 0};  // threads in all, where the last blocks are smaller; 0 where they are not
  bool flush_subnormals = false;
};

void run(const tidepool_kernel& kernel, void** arguments, const Grid& grid);

}  // namespace sim
