// Device memory of other processes.
#pragma once

#include "machine.h"

namespace sim {

// Unmaps the word that counts who opened an allocation.
void close_count(std::atomic<int>* count);

// Ends the view of another process's memory.
void close_opened(Allocation& allocation);

}  // namespace sim
