package dev.tidepool.methods.bytecode;

import dev.tidepool.KernelCompilationException;

/** An instruction of a method, for messages. */
record Place(MethodCode code, int instruction) {
  /** Returns an error about a construct at this place. */
  KernelCompilationException refuse(String what, String remedy) {
    return Refusal.at(code.shown(), code.line(instruction), what, remedy);
  }

  /** Returns an error about a method of Java's own libraries that is called here. */
  KernelCompilationException refuseCall(MethodCode called, KernelCompilationException cause) {
    return Refusal.because(
        cause, refuse("the call of " + called.shown(), "write what it does in the kernel's class"));
  }

  /** Returns the place as in a stack trace. */
  StackTraceElement frame() {
    return code.frame(instruction);
  }
}
