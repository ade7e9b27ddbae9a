#include "foundation.h"

namespace sim {

int count_message(Function& function, bool can_fail) {
  static Function& messages = sim::function("message");
  int injected = function.count();
  if (can_fail) {
    if (int of_all = messages.count()) {
      return of_all;
    }
  }
  return can_fail ? injected : 0;
}

std::shared_ptr<Object> make_error(const char* domain, NSInteger code, const std::string& text) {
  return std::make_shared<Error>(domain, code, text);
}

namespace foundation_methods {

// What alloc gives before init says what it is to hold.
std::shared_ptr<Object> make(const ClassInfo& type) {
  if (&type == &class_of("NSString")) {
    return std::make_shared<String>("");
  }
  if (&type == &class_of("NSObject")) {
    return std::make_shared<Object>(class_of("NSObject"));
  }
  if (std::shared_ptr<Object> made = make_metal_object(type)) {
    return made;
  }
  violation("+[%s alloc]: programs do not make objects of this class themselves", type.name);
  return nullptr;
}

Owned alloc(ClassInfo& type) { return {make(type)}; }
Owned make_new(ClassInfo& type) { return {make(type)}; }
Type class_itself(ClassInfo& type) { return {reinterpret_cast<Class>(&type)}; }
Same init(Object& self) { return {self.handle}; }
Same retain(Object& self) {
  registry().retain(self.handle, "retain");
  return {self.handle};
}
void release(Object& self) { registry().release(self.handle, "release"); }
Same autorelease_object(Object& self) {
  autorelease(self.handle, "autorelease");
  return {self.handle};
}
NSUInteger retain_count(Object& self) { return static_cast<NSUInteger>(registry().count(self)); }
Type class_of_object(Object& self) { return {reinterpret_cast<Class>(&self.type)}; }
Autoreleased description(Object& self) { return {std::make_shared<String>(self.describe())}; }
NSUInteger hash(Object& self) { return reinterpret_cast<NSUInteger>(self.handle) / 64; }
Bool is_equal(Object& self, Ref<Object> other) { return {other.get() == &self}; }
Bool is_kind_of(Object& self, Type type) {
  const ClassInfo* each = &self.type;
  while (each != nullptr && reinterpret_cast<Class>(const_cast<ClassInfo*>(each)) != type.value) {
    each = each->parent;
  }
  return {each != nullptr};
}
Bool responds(Object& self, Selector selector) {
  return {find_in(self.type, selector.value, false) != nullptr};
}
// Immutable objects are their own copies.
Same copy(Object& self) { return retain(self); }

METHOD("NSObject", "alloc", alloc)
METHOD("NSObject", "new", make_new)
METHOD("NSObject", "class", class_itself)
METHOD("NSObject", "init", init)
METHOD("NSObject", "copy", copy)
METHOD("NSObject", "retain", retain)
METHOD("NSObject", "release", release)
METHOD("NSObject", "autorelease", autorelease_object)
METHOD("NSObject", "retainCount", retain_count)
METHOD("NSObject", "class", class_of_object)
METHOD("NSObject", "description", description)
METHOD("NSObject", "hash", hash)
METHOD("NSObject", "isEqual:", is_equal)
METHOD("NSObject", "isKindOfClass:", is_kind_of)
METHOD("NSObject", "respondsToSelector:", responds)

Autoreleased string_with_utf8(ClassInfo&, const char* text) {
  return {text == nullptr ? nullptr : std::make_shared<String>(text)};
}
Same init_with_utf8(String& self, const char* text) {
  self.text = text == nullptr ? "" : text;
  return {self.handle};
}
Same init_with_bytes(String& self, const void* bytes, NSUInteger length, NSUInteger encoding) {
  if (encoding != NSUTF8StringEncoding) {
    violation("initWithBytes:length:encoding: with encoding %lu; the simulated one is UTF-8", encoding);
  }
  self.text.assign(static_cast<const char*>(bytes), length);
  return {self.handle};
}
const char* utf8(String& self) { return self.text.c_str(); }
// UTF-16 units, as the real one counts.
NSUInteger length(String& self) {
  NSUInteger units = 0;
  for (unsigned char c : self.text) {
    units += (c & 0xC0) != 0x80 ? 1 : 0;
    units += c >= 0xF0 ? 1 : 0;
  }
  return units;
}
NSUInteger length_of_bytes(String& self, NSUInteger encoding) {
  return encoding == NSUTF8StringEncoding ? self.text.size() : 0;
}
Bool is_equal_to_string(String& self, Ref<String> other) {
  return {other != nullptr && other->text == self.text};
}

METHOD("NSString", "stringWithUTF8String:", string_with_utf8)
METHOD("NSString", "initWithUTF8String:", init_with_utf8)
METHOD("NSString", "initWithBytes:length:encoding:", init_with_bytes)
METHOD("NSString", "UTF8String", utf8)
METHOD("NSString", "length", length)
METHOD("NSString", "lengthOfBytesUsingEncoding:", length_of_bytes)
METHOD("NSString", "isEqualToString:", is_equal_to_string)

NSUInteger count(Array& self) { return self.elements.size(); }
Borrowed object_at(Array& self, NSUInteger index) {
  if (index >= self.elements.size()) {
    violation("objectAtIndex: %lu of an array of %zu", index, self.elements.size());
    return {nullptr};
  }
  return {self.elements[index]};
}

METHOD("NSArray", "count", count)
METHOD("NSArray", "objectAtIndex:", object_at)

NSInteger code(Error& self) { return self.code; }
Borrowed domain(Error& self) { return {self.domain.handle()}; }
Borrowed localized_description(Error& self) { return {self.description.handle()}; }
Borrowed localized_reason(Error& self) { return {self.description.handle()}; }

METHOD("NSError", "code", code)
METHOD("NSError", "domain", domain)
METHOD("NSError", "localizedDescription", localized_description)
METHOD("NSError", "localizedFailureReason", localized_reason)

class ProcessInfo : public Object {
 public:
  ProcessInfo()
      : Object(class_of("NSProcessInfo")),
        version("Version " + std::to_string(os_major) + "." + std::to_string(os_minor) + " (Simulated)") {}
  OwnString version;
};

Borrowed process_info(ClassInfo&) {
  static id& handle = *new id(nullptr);
  static std::mutex& lock = *new std::mutex;
  std::lock_guard guard(lock);
  if (!registry().find_silently(handle)) {
    handle = registry().constant(std::make_shared<ProcessInfo>());
  }
  return {handle};
}
NSOperatingSystemVersion version(ProcessInfo&) { return {os_major, os_minor, 0}; }
Borrowed version_string(ProcessInfo& self) { return {self.version.handle()}; }
Bool is_at_least(ProcessInfo&, NSOperatingSystemVersion least) {
  return {std::pair<NSInteger, NSInteger>(os_major, os_minor) >= std::pair(least.major, least.minor)};
}

METHOD("NSProcessInfo", "processInfo", process_info)
METHOD("NSProcessInfo", "operatingSystemVersion", version)
METHOD("NSProcessInfo", "operatingSystemVersionString", version_string)
METHOD("NSProcessInfo", "isOperatingSystemAtLeastVersion:", is_at_least)

}  // namespace foundation_methods
}  // namespace sim
