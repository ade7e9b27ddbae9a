package dev.tidepool.metal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.invoke.MethodHandle;

/**
 * The types of a message, with the handle of {@code objc_msgSend} for them. Two longs precede the
 * arguments: the receiver and the selector. Signatures are records in constants, so that the
 * compiler sees a constant handle.
 */
record Signature(FunctionDescriptor descriptor, MethodHandle handle) {
  // The callee stores structs of more than 16 bytes; on x86-64 such messages need another function.
  private static final boolean IS_X86 = System.getProperty("os.arch", "").matches("amd64|x86_64");

  /** Returns the signature of a message without a result. */
  static Signature ofVoid(MemoryLayout... arguments) {
    return linked("objc_msgSend", FunctionDescriptor.ofVoid(withReceiver(arguments)));
  }

  /** Returns the signature of a message that returns a number or an object. */
  static Signature of(MemoryLayout result, MemoryLayout... arguments) {
    return linked("objc_msgSend", FunctionDescriptor.of(result, withReceiver(arguments)));
  }

  /** Returns the signature of a message that returns a struct of more than 16 bytes. */
  static Signature ofStruct(MemoryLayout result) {
    return linked(
        IS_X86 ? "objc_msgSend_stret" : "objc_msgSend",
        FunctionDescriptor.of(result, withReceiver()));
  }

  private static Signature linked(String function, FunctionDescriptor descriptor) {
    return new Signature(descriptor, MetalLibrary.INSTALLED.link(function, descriptor));
  }

  private static MemoryLayout[] withReceiver(MemoryLayout... arguments) {
    MemoryLayout[] all = new MemoryLayout[arguments.length + 2];
    all[0] = JAVA_LONG;
    all[1] = JAVA_LONG;
    System.arraycopy(arguments, 0, all, 2, arguments.length);
    return all;
  }
}
