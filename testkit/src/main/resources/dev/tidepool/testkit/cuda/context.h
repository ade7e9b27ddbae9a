// The calling thread's stack of contexts.
#pragma once

#include "machine.h"

namespace sim {

Context* current_context();

// Whether there is such a context, under the lock.
bool is_context(const Context* context);

}  // namespace sim
