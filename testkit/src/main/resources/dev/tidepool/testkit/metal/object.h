// Objects: what lives, who refers to it, which messages it understands.
//
// An id is a number that was never used before, so what is kept too long is always found out. The registry
// has a lock of its own; nothing waits and no object's code runs while it is held.
//
// An object counts two kinds of references: those of the program (what it owns, and what its pools will
// release) and those of Metal itself. It ends with the last of both. A message to an object that the program
// refers to no longer is a violation, although Metal may still keep it alive: on another day it would not.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ledger.h"
#include "metal_abi.h"

namespace sim {

struct ClassInfo;

struct Method {
  const char* name;  // of the selector
  IMP code;
  bool in_memory;     // its result is a structure that the caller has room for, on x86-64
  std::string types;  // of result and arguments, as in the table of selectors
  int since;          // the major version of macOS that brought it
};

// A class or protocol with the methods that its own instances have, besides its parent's.
struct ClassInfo {
  const char* name;
  ClassInfo* parent;
  std::unordered_map<SEL, Method> methods;
  std::unordered_map<SEL, Method> class_methods;
};

class Object : public std::enable_shared_from_this<Object> {
 public:
  explicit Object(ClassInfo& type) : type(type) {}
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // Called once, when nothing refers to it any more; no lock is held.
  virtual void end() {}
  // What tests read of it.
  virtual std::string describe() const { return type.name; }

  ClassInfo& type;
  id handle = nullptr;

 private:
  friend class Registry;
  std::atomic<long> program_{0};
  std::atomic<long> metal_{0};
  bool constant_ = false;  // lives as long as what it belongs to, or for ever
};

// Everything that lives, and the names of what did.
class Registry {
 public:
  // Gives the object an id and one reference of the program's.
  id own(std::shared_ptr<Object> object);
  // Gives it an id; it lives as long as `object`'s owner says, and no reference of the program's counts.
  id constant(std::shared_ptr<Object> object);
  void drop_constant(id handle);

  // The object of that id, for a message of that name; null, and a violation, where there is none.
  std::shared_ptr<Object> find(id handle, const char* message);
  std::shared_ptr<Object> find_silently(id handle);
  void retain(id handle, const char* message);
  void release(id handle, const char* message);
  long count(const Object& object) const { return object.program_; }
  // References of Metal's own.
  void hold(Object& object) { object.metal_++; }
  void let_go(Object& object);

  std::string leaks();
  void clear();  // forgets all objects without a word

 private:
  void end_if_unused(Object& object);

  std::mutex lock_;
  std::unordered_map<id, std::shared_ptr<Object>> live_;
  std::unordered_map<id, std::string> ended_;  // what they were
  uintptr_t next_ = uintptr_t{1} << 32;
};

Registry& registry();

// The version of macOS that the process is told.
extern std::atomic<int> os_major;
extern std::atomic<int> os_minor;

// A reference of Metal's own, for as long as this exists.
class Hold {
 public:
  explicit Hold(std::shared_ptr<Object> object) : object_(std::move(object)) { registry().hold(*object_); }
  Hold(Hold&& other) noexcept : object_(std::move(other.object_)) {}
  Hold& operator=(Hold&&) = delete;
  ~Hold() {
    if (object_) {
      registry().let_go(*object_);
    }
  }

 private:
  std::shared_ptr<Object> object_;
};

// The thread's pools. Without one, the object is never released, which is a violation.
void autorelease(id handle, const char* message);

ClassInfo& class_of(const char* name);  // made at the first call
SEL selector(const char* name);         // one for each name, for ever
bool is_class(id handle);
const Method* find_in(const ClassInfo& type, SEL selector, bool of_class);

// The method for a message; null for nil, and where a violation says why there is none.
const Method* find_method(id self, SEL selector);

// All methods, one "owner ; selector ; result ; arguments" in a line.
std::string methods();

}  // namespace sim
