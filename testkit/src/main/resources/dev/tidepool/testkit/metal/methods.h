// How methods are written: as functions of C++ types, of which the signature of the message follows.
//
// A method takes its object by reference and returns what the caller gets. Arguments that are objects
// come as Ref<Type>, found in the registry before the method runs; one that is released or of another
// class is a violation and comes as null.
#pragma once

#include <cstring>

#include "object.h"

namespace sim {

// An object among the arguments, or null.
template <class T>
using Ref = std::shared_ptr<T>;

// Where an error or another object is stored for the caller, autoreleased.
struct Out {
  id* place;
};
struct Block {
  void* code;
};
struct Bool {
  bool value;
};
struct Type {
  Class value;
};
struct Selector {
  SEL value;
};
// Results: the caller owns the object, a pool does, or what it was asked of.
struct Owned {
  std::shared_ptr<Object> object;
};
struct Autoreleased {
  std::shared_ptr<Object> object;
};
struct Borrowed {
  id handle;
};
// An object that is returned with the references that it has.
struct Same {
  id handle;
};

// An object that programs make by alloc, of a class of Metal; null for other classes.
std::shared_ptr<Object> make_metal_object(const ClassInfo& type);

// The object that stands for an error: in foundation.cc.
std::shared_ptr<Object> make_error(const char* domain, NSInteger code, const std::string& text);

inline void store_error(const Out& out, const char* domain, NSInteger code, const std::string& text,
                        const char* message) {
  if (out.place != nullptr) {
    *out.place = registry().own(make_error(domain, code, text));
    autorelease(*out.place, message);
  }
}

// What a type is in a message: how it is passed, how it is named in the table.
template <class T>
struct Passed {
  using Raw = T;
  static T in(T value, const char*) { return value; }
  static T out(T value, const char*) { return value; }
};
template <class T>
struct Passed<Ref<T>> {
  using Raw = id;
  static constexpr const char* name = "id";
  static Ref<T> in(id value, const char* message) {
    std::shared_ptr<Object> found = registry().find(value, message);
    auto object = std::dynamic_pointer_cast<T>(found);
    if (found && !object) {
      violation("%s: an argument is %s", message, found->describe().c_str());
    }
    return object;
  }
};
template <>
struct Passed<Out> {
  using Raw = id*;
  static constexpr const char* name = "id*";
  static Out in(id* value, const char*) { return {value}; }
};
template <>
struct Passed<Block> {
  using Raw = void*;
  static constexpr const char* name = "block";
  static Block in(void* value, const char*) { return {value}; }
};
template <>
struct Passed<Type> {
  using Raw = Class;
  static constexpr const char* name = "Class";
  static Type in(Class value, const char*) { return {value}; }
  static Class out(Type value, const char*) { return value.value; }
};
template <>
struct Passed<Selector> {
  using Raw = SEL;
  static constexpr const char* name = "SEL";
  static Selector in(SEL value, const char*) { return {value}; }
};
// Only the low byte of the register counts; a result has rubbish in the others.
template <>
struct Passed<Bool> {
  using Raw = NSUInteger;
  static constexpr const char* name = "BOOL";
  static Bool in(NSUInteger value, const char*) { return {(value & 0xFF) != 0}; }
  static NSUInteger out(Bool value, const char*) { return 0x5A5A5A5A5A5A5A00 | (value.value ? 1 : 0); }
};
// On AArch64 the caller extends with zeros, and the code called relies on it.
template <>
struct Passed<unsigned char> {
  using Raw = unsigned;
  static constexpr const char* name = "uint8";
  static unsigned char in(unsigned value, const char* message) {
    if (value > 0xFF) {
      violation("%s: a number of 8 bits was passed as 0x%x", message, value);
    }
    return static_cast<unsigned char>(value);
  }
};
template <>
struct Passed<Owned> {
  using Raw = id;
  static constexpr const char* name = "id";
  static id out(Owned value, const char*) {
    return value.object ? registry().own(std::move(value.object)) : nullptr;
  }
};
template <>
struct Passed<Autoreleased> {
  using Raw = id;
  static constexpr const char* name = "id";
  static id out(Autoreleased value, const char* message) {
    if (!value.object) {
      return nullptr;
    }
    id handle = registry().own(std::move(value.object));
    autorelease(handle, message);
    return handle;
  }
};
template <>
struct Passed<Borrowed> {
  using Raw = id;
  static constexpr const char* name = "id";
  static id out(Borrowed value, const char*) { return value.handle; }
};
template <>
struct Passed<Same> {
  using Raw = id;
  static constexpr const char* name = "id";
  static id out(Same value, const char*) { return value.handle; }
};
#define TIDEPOOL_PASSED_AS_IS(type, word)              \
  template <>                                          \
  struct Passed<type> {                                \
    using Raw = type;                                  \
    static constexpr const char* name = word;          \
    static type in(type v, const char*) { return v; }  \
    static type out(type v, const char*) { return v; } \
  };
TIDEPOOL_PASSED_AS_IS(NSUInteger, "NSUInteger")
TIDEPOOL_PASSED_AS_IS(NSInteger, "NSInteger")
TIDEPOOL_PASSED_AS_IS(unsigned, "uint32")
TIDEPOOL_PASSED_AS_IS(double, "double")
TIDEPOOL_PASSED_AS_IS(void*, "pointer")
TIDEPOOL_PASSED_AS_IS(const void*, "pointer")
TIDEPOOL_PASSED_AS_IS(const char*, "string")
TIDEPOOL_PASSED_AS_IS(MTLSize, "MTLSize")
TIDEPOOL_PASSED_AS_IS(NSRange, "NSRange")
TIDEPOOL_PASSED_AS_IS(MTLSizeAndAlign, "MTLSizeAndAlign")
TIDEPOOL_PASSED_AS_IS(NSOperatingSystemVersion, "NSOperatingSystemVersion")
#undef TIDEPOOL_PASSED_AS_IS

// Counts a message; the code of a failure that a test asked for. Those that can fail are also counted
// together, as "message".
int count_message(Function& function, bool can_fail);

template <auto body, class Signature = decltype(body)>
struct Code;

template <auto body, class Result, class Self, class... Arguments>
struct Code<body, Result (*)(Self&, Arguments...)> {
  static constexpr bool may_answer_nil = std::is_same_v<Result, Owned> ||
                                         std::is_same_v<Result, Autoreleased> ||
                                         std::is_same_v<Result, void*>;
  static constexpr bool of_class = std::is_same_v<Self, ClassInfo>;
  static constexpr bool in_memory = [] {
    if constexpr (std::is_class_v<Result>) {
      return sizeof(typename Passed<Result>::Raw) > 2 * sizeof(void*);
    } else {
      return false;
    }
  }();
  static inline Function* counted = nullptr;
  static inline bool can_fail = false;

  static std::string types() {
    std::string text;
    if constexpr (std::is_void_v<Result>) {
      text = "void ;";
    } else {
      text = std::string(Passed<Result>::name) + " ;";
    }
    ((text += std::string(" ") + Passed<Arguments>::name), ...);
    return text;
  }

  // The error is the last of the arguments.
  template <class Last>
  static void store_injected(int code, const char* message, Last last) {
    if constexpr (std::is_same_v<Last, id*>) {
      store_error(Out{last}, "MTLLibraryErrorDomain", code, "injected by the test", message);
    } else {
      (void)code, (void)message, (void)last;
    }
  }
  static void store_injected(int, const char*) {}
  template <class First, class Second, class... Others>
  static void store_injected(int code, const char* message, First, Second second, Others... others) {
    store_injected(code, message, second, others...);
  }

  static auto run(Self& self, const char* message, typename Passed<Arguments>::Raw... raw) {
    if constexpr (may_answer_nil) {
      if (int injected = count_message(*counted, can_fail)) {
        store_injected(injected, message, raw...);
        return typename Passed<Result>::Raw{nullptr};
      }
    } else {
      count_message(*counted, false);
    }
    if constexpr (std::is_void_v<Result>) {
      body(self, Passed<Arguments>::in(raw, message)...);
    } else {
      return Passed<Result>::out(body(self, Passed<Arguments>::in(raw, message)...), message);
    }
  }

  static auto call(id handle, SEL selector, typename Passed<Arguments>::Raw... raw) {
    auto message = reinterpret_cast<const char*>(selector);
    if constexpr (of_class) {
      return run(*reinterpret_cast<ClassInfo*>(handle), message, raw...);
    } else {
      // Checked by the trampoline; kept alive while the method runs, also where it releases itself.
      std::shared_ptr<Object> object = registry().find_silently(handle);
      using Answer = decltype(run(std::declval<Self&>(), message, raw...));
      Self* self = dynamic_cast<Self*>(object.get());
      if (self == nullptr) {
        return Answer();  // another thread released it just now
      }
      return run(*self, message, raw...);
    }
  }
};

// Adds a method to a class. Use METHOD.
template <auto body>
bool add_method(const char* owner, const char* name, int since) {
  using Coded = Code<body>;
  ClassInfo& type = class_of(owner);
  SEL handle = selector(name);
  Coded::counted = &function(name);
  Coded::can_fail = strncmp(owner, "MTL", 3) == 0;
  Method method{reinterpret_cast<const char*>(handle), reinterpret_cast<IMP>(&Coded::call), Coded::in_memory,
                Coded::types(), since};
  (Coded::of_class ? type.class_methods : type.methods)[handle] = method;
  return true;
}

}  // namespace sim

#define TIDEPOOL_JOIN_(a, b) a##b
#define TIDEPOOL_JOIN(a, b) TIDEPOOL_JOIN_(a, b)
// METHOD(owner, selector, function) in namespace scope; METHOD_SINCE also names the version of macOS.
#define METHOD(owner, selector, body) METHOD_SINCE(owner, selector, body, 0)
#define METHOD_SINCE(owner, selector, body, since)                 \
  [[maybe_unused]] const bool TIDEPOOL_JOIN(added_, __COUNTER__) = \
      ::sim::add_method<&body>(owner, selector, since);
