package dev.tidepool.metal;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/**
 * A C function of the runtime or of Metal.
 *
 * @param name its documented name
 * @param descriptor its types
 * @param handle calls it; throws if there is no Metal
 */
record LinkedFunction(String name, FunctionDescriptor descriptor, MethodHandle handle) {
  /** Links an installed function. */
  static LinkedFunction of(String name, FunctionDescriptor descriptor) {
    return new LinkedFunction(name, descriptor, MetalLibrary.INSTALLED.link(name, descriptor));
  }
}
