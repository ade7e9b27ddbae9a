// What the environment tells a simulated library, and where it wants a report.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

// Makes devices and changes settings as a variable says: "name=value" pairs with blanks between. A name is
// "devices", one of the machine's settings, or one of a device's, with "2." before it for device 2 alone;
// device -1 is all of them.
void configure_as(const char* variable, void (*make)(int devices),
                  bool (*set)(int device, const std::string& name, int64_t value));

// Appends what is wrong to the file that a variable names, if it is set. `ended` is what a leak was not.
void report_to(const char* variable, const char* ended);

}  // namespace sim
