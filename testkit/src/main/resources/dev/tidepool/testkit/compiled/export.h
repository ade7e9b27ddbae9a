// What a simulated library exports.
#pragma once

#define EXPORT extern "C" __attribute__((visibility("default")))
