// Physical memory, made by cuMemCreate or imported: a memfd, mapped where the program wants it.
#pragma once

#include "machine.h"

namespace sim {

struct Physical {
  Physical(Device* device, int file, size_t size, bool own)
      : device(device), file(file), size(size), own(own) {}
  ~Physical();

  Device* const device;
  const int file;
  const size_t size;
  const bool own;  // made here, so it counts as this device's memory
  int handle_types = 0;
};

}  // namespace sim
