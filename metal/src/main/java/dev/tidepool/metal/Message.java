package dev.tidepool.metal;

import java.lang.invoke.MethodHandle;

/**
 * A message: its owner, its name and its types.
 *
 * @param owner the class or protocol that documents it, after a plus sign if it is a message to a
 *     class
 * @param name as in {@code newBufferWithLength:options:}
 * @param selector the runtime's selector of the name; 0 if there is no runtime
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
