// What tests ask of a ledger and tell it. Each simulated library has these functions.

#include "export.h"
#include "ledger.h"

namespace sim {

namespace {

long answer(const std::string& text, char* buffer, long size) {
  if (size > 0) {
    size_t length = text.copy(buffer, static_cast<size_t>(size - 1));
    buffer[length] = 0;
  }
  return static_cast<long>(text.size());
}

}  // namespace
}  // namespace sim

EXPORT void tidepool_sim_forget(void) { sim::forget_ledger(); }

EXPORT void tidepool_sim_fail(const char* name, long long nth, int code, long long times) {
  sim::function(name).fail(nth, code, times);
}

EXPORT long long tidepool_sim_calls(const char* name) {
  return static_cast<long long>(sim::function(name).calls());
}

// Writes "calls", "violations", "notes" or "leaks" to the buffer; answers how long the text is.
EXPORT long tidepool_sim_report(const char* which, char* buffer, long size) {
  std::string kind(which);
  return sim::answer(kind == "calls"        ? sim::calls()
                     : kind == "violations" ? sim::violations()
                     : kind == "notes"      ? sim::notes()
                     : kind == "leaks"      ? sim::leaks()
                                            : "",
                     buffer, size);
}
