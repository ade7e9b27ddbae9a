#include "object.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

namespace sim {
namespace {

struct Names {
  std::mutex lock;
  std::map<std::string, std::unique_ptr<ClassInfo>> classes;
  std::set<const void*> class_handles;
  std::map<std::string, SEL> selectors;
  std::set<SEL> selector_handles;
  std::deque<std::string> texts;
};

// Never destroyed: other threads may outlive static objects when the process exits.
Names& names() {
  static Names& instance = *new Names;
  return instance;
}

struct Pool {
  uintptr_t token;
  std::vector<id> objects;
};

thread_local std::vector<Pool> pools;
std::atomic<uintptr_t> next_pool{uintptr_t{1} << 20};

}  // namespace

std::atomic<int> os_major{15};
std::atomic<int> os_minor{0};

Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

id Registry::own(std::shared_ptr<Object> object) {
  object->program_ = 1;
  std::lock_guard guard(lock_);
  object->handle = reinterpret_cast<id>(next_ += 64);
  live_[object->handle] = object;
  return object->handle;
}

id Registry::constant(std::shared_ptr<Object> object) {
  object->constant_ = true;
  std::lock_guard guard(lock_);
  object->handle = reinterpret_cast<id>(next_ += 64);
  live_[object->handle] = object;
  return object->handle;
}

void Registry::drop_constant(id handle) {
  std::shared_ptr<Object> dropped;
  {
    std::lock_guard guard(lock_);
    auto found = live_.find(handle);
    if (found == live_.end()) {
      return;  // all objects were forgotten meanwhile
    }
    dropped = found->second;
    found->second->constant_ = false;
  }
  end_if_unused(*dropped);
}

std::shared_ptr<Object> Registry::find(id handle, const char* message) {
  if (handle == nullptr) {
    return nullptr;
  }
  std::lock_guard guard(lock_);
  auto found = live_.find(handle);
  if (found != live_.end()) {
    const Object& object = *found->second;
    if (object.program_ <= 0 && !object.constant_) {
      violation("%s: the program does not own %s any more, only Metal still does", message,
                object.describe().c_str());
    }
    return found->second;
  }
  auto before = ended_.find(handle);
  violation("%s: %p is %s%s", message, static_cast<void*>(handle),
            before == ended_.end() ? "no object" : "released: ",
            before == ended_.end() ? "" : before->second.c_str());
  return nullptr;
}

std::shared_ptr<Object> Registry::find_silently(id handle) {
  std::lock_guard guard(lock_);
  auto found = live_.find(handle);
  return found == live_.end() ? nullptr : found->second;
}

void Registry::retain(id handle, const char* message) {
  if (auto object = find(handle, message)) {
    object->program_++;
  }
}

void Registry::release(id handle, const char* message) {
  auto object = find(handle, message);
  if (!object) {
    return;
  }
  if (object->program_.fetch_sub(1) <= 0) {
    object->program_++;
    violation("%s: released more often than retained: %s", message, object->describe().c_str());
    return;
  }
  end_if_unused(*object);
}

void Registry::let_go(Object& object) {
  object.metal_--;
  end_if_unused(object);
}

void Registry::end_if_unused(Object& object) {
  std::shared_ptr<Object> ending;
  {
    std::lock_guard guard(lock_);
    auto found = live_.find(object.handle);
    if (object.program_ > 0 || object.metal_ > 0 || object.constant_ || found == live_.end() ||
        found->second.get() != &object) {
      return;
    }
    ending = found->second;
    live_.erase(found);
    ended_[object.handle] = object.describe();
  }
  ending->end();
}

std::string Registry::leaks() {
  std::lock_guard guard(lock_);
  std::vector<std::string> lines;
  for (const auto& [handle, object] : live_) {
    if (object->program_ > 0) {
      lines.push_back(object->describe() + ", retained " + std::to_string(object->program_) +
                      (object->program_ == 1 ? " time" : " times"));
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

void Registry::clear() {
  std::unordered_map<id, std::shared_ptr<Object>> all;
  {
    std::lock_guard guard(lock_);
    all.swap(live_);
    ended_.clear();
  }
}

void autorelease(id handle, const char* message) {
  if (pools.empty()) {
    violation("%s: autoreleased without a pool on this thread; nothing releases the object", message);
    return;
  }
  pools.back().objects.push_back(handle);
}

ClassInfo& class_of(const char* name) {
  std::lock_guard guard(names().lock);
  std::unique_ptr<ClassInfo>& place = names().classes[name];
  if (!place) {
    place.reset(new ClassInfo{names().texts.emplace_back(name).c_str(), nullptr, {}, {}});
    names().class_handles.insert(place.get());
  }
  return *place;
}

SEL selector(const char* name) {
  std::lock_guard guard(names().lock);
  auto [place, added] = names().selectors.try_emplace(name, nullptr);
  if (added) {
    place->second = reinterpret_cast<SEL>(const_cast<char*>(names().texts.emplace_back(name).c_str()));
    names().selector_handles.insert(place->second);
  }
  return place->second;
}

bool is_class(id handle) {
  std::lock_guard guard(names().lock);
  return names().class_handles.count(handle) == 1;
}

const Method* find_in(const ClassInfo& type, SEL selector, bool of_class) {
  for (const ClassInfo* each = &type; each != nullptr; each = each->parent) {
    const auto& methods = of_class ? each->class_methods : each->methods;
    auto found = methods.find(selector);
    if (found != methods.end()) {
      return found->second.since <= os_major ? &found->second : nullptr;
    }
  }
  return nullptr;
}

const Method* find_method(id self, SEL selector) {
  {
    std::lock_guard guard(names().lock);
    if (names().selector_handles.count(selector) == 0) {
      violation("a message with selector %p, which is none: get it from sel_registerName",
                static_cast<void*>(selector));
      return nullptr;
    }
  }
  const char* name = reinterpret_cast<const char*>(selector);
  if (self == nullptr) {
    return nullptr;
  }
  bool of_class = is_class(self);
  std::shared_ptr<Object> object = of_class ? nullptr : registry().find(self, name);
  if (!of_class && !object) {
    return nullptr;
  }
  const ClassInfo& type = of_class ? *reinterpret_cast<ClassInfo*>(self) : object->type;
  const Method* method = find_in(type, selector, of_class);
  if (method == nullptr) {
    violation("%c[%s %s]: unrecognized selector", of_class ? '+' : '-', type.name, name);
  }
  return method;
}

std::string methods() {
  std::lock_guard guard(names().lock);
  std::string text;
  for (const auto& [name, type] : names().classes) {
    for (const auto& [selector, method] : type->class_methods) {
      text += "+" + name + " ; " + method.name + " ; " + method.types + "\n";
    }
    for (const auto& [selector, method] : type->methods) {
      text += name + " ; " + method.name + " ; " + method.types + "\n";
    }
  }
  return text;
}

}  // namespace sim

using namespace sim;

EXPORT Class objc_getClass(const char* name) {
  std::lock_guard guard(names().lock);
  auto found = name == nullptr ? names().classes.end() : names().classes.find(name);
  return found == names().classes.end() ? nullptr : reinterpret_cast<Class>(found->second.get());
}

EXPORT Class object_getClass(id object) {
  std::shared_ptr<Object> found = registry().find(object, __func__);
  return found ? reinterpret_cast<Class>(&found->type) : nullptr;
}

EXPORT const char* object_getClassName(id object) {
  std::shared_ptr<Object> found = registry().find(object, __func__);
  return found ? found->type.name : "nil";
}

EXPORT const char* class_getName(Class type) {
  return type == nullptr ? "nil" : reinterpret_cast<ClassInfo*>(type)->name;
}

EXPORT bool class_respondsToSelector(Class type, SEL selector) {
  return type != nullptr && find_in(*reinterpret_cast<ClassInfo*>(type), selector, false) != nullptr;
}

EXPORT SEL sel_registerName(const char* name) { return selector(name); }

EXPORT const char* sel_getName(SEL selector) { return reinterpret_cast<const char*>(selector); }

EXPORT id objc_retain(id object) {
  registry().retain(object, __func__);
  return object;
}

EXPORT void objc_release(id object) { registry().release(object, __func__); }

EXPORT id objc_autorelease(id object) {
  if (registry().find(object, __func__)) {
    autorelease(object, __func__);
  }
  return object;
}

EXPORT void* objc_autoreleasePoolPush(void) {
  pools.push_back({next_pool += 16, {}});
  return reinterpret_cast<void*>(pools.back().token);
}

// Pops the pools above it too, as the real one does.
EXPORT void objc_autoreleasePoolPop(void* pool) {
  auto token = reinterpret_cast<uintptr_t>(pool);
  auto found =
      std::find_if(pools.begin(), pools.end(), [&](const Pool& each) { return each.token == token; });
  if (found == pools.end()) {
    violation("objc_autoreleasePoolPop: %p is no pool of this thread, or was popped", pool);
    return;
  }
  auto keep = static_cast<size_t>(found - pools.begin());
  while (pools.size() > keep) {
    // What ends now may be autoreleasing in turn.
    std::vector<id> objects;
    objects.swap(pools.back().objects);
    if (objects.empty()) {
      pools.pop_back();
    }
    for (id object : objects) {
      registry().release(object, "objc_autoreleasePoolPop");
    }
  }
}
