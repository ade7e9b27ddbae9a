package dev.tidepool.metal;

import java.lang.invoke.MethodHandle;

/**
 * A message: whose it is, its name and its types.
 *
 * @param owner the class or protocol that documents it; with a plus sign before it for a message to
 *     a class
 * @param name as in {@code newBufferWithLength:options:}
 * @param selector what the runtime calls the name; 0 where there is no runtime
 */
record Message(String owner, String name, long selector, Signature signature) {
  /** Returns a message, with the selector that the runtime registers for its name. */
  static Message of(String owner, String name, Signature signature) {
    return new Message(owner, name, ObjectiveC.selector(name), signature);
  }

  MethodHandle handle() {
    return signature.handle();
  }
}
