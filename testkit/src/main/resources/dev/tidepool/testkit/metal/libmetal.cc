// The Objective-C runtime, Foundation and Metal without a Mac, for tests: those of their functions and
// messages that programs which compute use. One translation unit, so that it compiles in seconds.

#include "ledger.cc"
#include "ledger_control.cc"
#include "environment.cc"
#include "grid.cc"
#include "object.cc"
#include "trampoline.cc"
#include "foundation.cc"
#include "device.cc"
#include "buffer.cc"
#include "command_queue.cc"
#include "event.cc"
#include "blit_encoder.cc"
#include "kernel_cache.cc"
#include "library.cc"
#include "compute_encoder.cc"
#include "control.cc"
