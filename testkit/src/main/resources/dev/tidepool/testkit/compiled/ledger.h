// What was asked of a simulated library and what a real one would have punished: calls by name, errors to
// be injected, violations (misuse), notes (legal but slow). Has a lock of its own, never held while
// anything else is locked.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

// One function by name: how often it was called, and at which calls it is to fail.
class Function {
 public:
  // Counts a call; the code of an armed failure, else 0.
  int count();

  // Fails `times` calls from the nth on, counted from now; the next is the first. times < 0: for ever.
  void fail(int64_t nth, int code, int64_t times);
  void disarm();
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  void forget() { calls_.store(0); }

 private:
  struct Failure {
    uint64_t first;
    uint64_t last;
    int code;
  };
  std::atomic<uint64_t> calls_{0};
  std::atomic<bool> armed_{false};
  std::vector<Failure> failures_;  // under the ledger's lock
};

// The function of that name; lives for ever.
Function& function(const std::string& name);

// Counts by name, one "name count" in a line.
std::string calls();

__attribute__((format(printf, 1, 2))) void violation(const char* format, ...);
__attribute__((format(printf, 1, 2))) void note(const char* format, ...);

// One in a line, the first 500 of each.
std::string violations();
std::string notes();

// What is live, one in a line. Each library has its own.
std::string leaks();

// Forgets counts, failures, violations and notes.
void forget_ledger();

}  // namespace sim
