// The calling thread's stack of contexts.
#pragma once

#include "machine.h"

namespace sim {

Context* current_context();

}  // namespace sim
