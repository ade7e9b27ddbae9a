#include "ledger.h"

#include <cstdarg>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>

namespace sim {
namespace {

constexpr size_t kMostLines = 500;

struct Ledger {
  std::mutex lock;
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::vector<std::string> violations;
  std::vector<std::string> notes;
};

// Never destroyed: threads of streams may outlive static objects when the process exits.
Ledger& ledger() {
  static Ledger& instance = *new Ledger;
  return instance;
}

void keep(std::vector<std::string>& lines, const char* format, va_list arguments) {
  char text[512];
  vsnprintf(text, sizeof text, format, arguments);
  std::lock_guard guard(ledger().lock);
  if (lines.size() < kMostLines) {
    lines.emplace_back(text);
  }
}

std::string joined(const std::vector<std::string>& lines) {
  std::lock_guard guard(ledger().lock);
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

}  // namespace

int Function::count() {
  uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!armed_.load(std::memory_order_acquire)) {
    return 0;
  }
  std::lock_guard guard(ledger().lock);
  for (const Failure& failure : failures_) {
    if (failure.first <= call && call <= failure.last) {
      return failure.code;
    }
  }
  return 0;
}

void Function::fail(int64_t nth, int code, int64_t times) {
  std::lock_guard guard(ledger().lock);
  uint64_t first = calls_.load() + static_cast<uint64_t>(nth < 1 ? 1 : nth);
  failures_.push_back({first, times < 0 ? UINT64_MAX : first + static_cast<uint64_t>(times) - 1, code});
  armed_.store(true, std::memory_order_release);
}

void Function::disarm() {
  std::lock_guard guard(ledger().lock);
  failures_.clear();
  armed_.store(false);
}

Function& function(const std::string& name) {
  std::lock_guard guard(ledger().lock);
  std::unique_ptr<Function>& place = ledger().functions[name];
  if (!place) {
    place = std::make_unique<Function>();
  }
  return *place;
}

std::string calls() {
  std::lock_guard guard(ledger().lock);
  std::string text;
  for (const auto& [name, function] : ledger().functions) {
    if (function->calls() > 0) {
      text += name + " " + std::to_string(function->calls()) + "\n";
    }
  }
  return text;
}

void violation(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  keep(ledger().violations, format, arguments);
  va_end(arguments);
}

void note(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  keep(ledger().notes, format, arguments);
  va_end(arguments);
}

std::string violations() { return joined(ledger().violations); }

std::string notes() { return joined(ledger().notes); }

void forget_ledger() {
  std::vector<Function*> all;
  {
    std::lock_guard guard(ledger().lock);
    ledger().violations.clear();
    ledger().notes.clear();
    for (const auto& [name, function] : ledger().functions) {
      all.push_back(function.get());
    }
  }
  for (Function* function : all) {
    function->disarm();
    function->forget();
  }
}

}  // namespace sim
