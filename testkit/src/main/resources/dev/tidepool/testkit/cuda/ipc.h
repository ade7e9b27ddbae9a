// Device memory of other processes.
#pragma once

#include "machine.h"

namespace sim {

// Whether another process has what this one exported.
bool is_open_elsewhere(const Allocation& allocation);

// Ends the view of another process's memory.
void close_opened(Allocation& allocation);

}  // namespace sim
