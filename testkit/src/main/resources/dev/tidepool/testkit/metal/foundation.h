// Strings, arrays and errors.
#pragma once

#include "methods.h"

namespace sim {

// A string. Those that Metal hands out without ownership belong to another object.
class String : public Object {
 public:
  explicit String(std::string text) : Object(class_of("NSString")), text(std::move(text)) {}
  std::string describe() const override { return "NSString \"" + text.substr(0, 60) + "\""; }

  std::string text;
};

// A string that lives as long as the object that has it.
class OwnString {
 public:
  OwnString() = default;
  explicit OwnString(const std::string& text) { set(text); }
  ~OwnString() { drop(); }
  OwnString(const OwnString&) = delete;
  OwnString& operator=(const OwnString&) = delete;

  void set(const std::string& text) {
    drop();
    handle_ = registry().constant(std::make_shared<String>(text));
  }
  id handle() const { return handle_; }

 private:
  void drop() {
    if (handle_ != nullptr) {
      registry().drop_constant(handle_);
    }
  }
  id handle_ = nullptr;
};

// An array, which keeps its elements alive.
class Array : public Object {
 public:
  explicit Array(std::vector<id> elements) : Object(class_of("NSArray")), elements(std::move(elements)) {
    for (id element : this->elements) {
      registry().retain(element, "NSArray");
    }
  }
  void end() override {
    for (id element : elements) {
      registry().release(element, "NSArray");
    }
  }
  std::string describe() const override { return "NSArray of " + std::to_string(elements.size()); }

  std::vector<id> elements;
};

class Error : public Object {
 public:
  Error(const std::string& domain, NSInteger code, const std::string& text)
      : Object(class_of("NSError")), code(code), text(text), domain(domain), description(text) {}
  std::string describe() const override { return "NSError \"" + text.substr(0, 60) + "\""; }

  NSInteger code;
  std::string text;
  OwnString domain;
  OwnString description;
};

}  // namespace sim
