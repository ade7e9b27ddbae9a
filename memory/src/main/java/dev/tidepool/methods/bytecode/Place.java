package dev.tidepool.methods.bytecode;

import dev.tidepool.KernelCompilationException;

/** An instruction of a method, for messages. */
record Place(MethodCode code, int instruction) {
  /** An error about a construct at this place. */
  KernelCompilationException refuse(String what, String remedy) {
    return Refusal.at(code.shown(), code.line(instruction), what, remedy);
  }

  /** The place, as a stack trace has it. */
  StackTraceElement frame() {
    return code.frame(instruction);
  }
}
