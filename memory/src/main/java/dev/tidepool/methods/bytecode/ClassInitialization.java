package dev.tidepool.methods.bytecode;

import java.lang.StackWalker.StackFrame;
import java.lang.classfile.Attributes;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeElement;
import java.lang.classfile.Instruction;
import java.lang.classfile.MethodModel;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.FieldInstruction;
import java.util.Optional;

/**
 * Determines how far the current thread has come in the initialisation of a class. Another thread
 * that uses the class waits until the initialisation ends, but this thread sees fields that have no
 * value yet.
 */
final class ClassInitialization {
  private static final String INITIALIZER = "<clinit>";
  private static final StackWalker STACK =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

  private ClassInitialization() {}

  /**
   * Returns whether the current thread initialises a class and has yet to assign a static field of
   * the class.
   */
  static boolean isAhead(Class<?> owner, String field, ClassFiles files) {
    Optional<StackFrame> initializer =
        STACK.walk(
            frames ->
                frames
                    .filter(frame -> frame.getMethodName().equals(INITIALIZER))
                    .filter(frame -> frame.getDeclaringClass().isAssignableFrom(owner))
                    .findFirst());
    if (initializer.isEmpty()) {
      return false;
    }
    // The initializer of the class runs after those of its superclasses.
    boolean hasBegun = initializer.get().getDeclaringClass() == owner;
    int reached = hasBegun ? initializer.get().getByteCodeIndex() : -1;
    return files
        .find(owner.getName().replace('.', '/'))
        .map(model -> isAssignedBehind(reached, model, field))
        .orElse(true);
  }

  private static boolean isAssignedBehind(int reached, ClassModel type, String field) {
    for (MethodModel method : type.methods()) {
      if (method.methodName().equalsString(INITIALIZER)) {
        return method
            .findAttribute(Attributes.code())
            .map(code -> isAssignedBehind(reached, code, field))
            .orElse(false);
      }
    }
    return false;
  }

  private static boolean isAssignedBehind(
      int reached, Iterable<CodeElement> initializer, String field) {
    int index = 0;
    for (CodeElement element : initializer) {
      if (index > reached
          && element instanceof FieldInstruction assigned
          && assigned.opcode() == Opcode.PUTSTATIC
          && assigned.name().equalsString(field)) {
        return true;
      }
      if (element instanceof Instruction instruction) {
        index += instruction.sizeInBytes();
      }
    }
    return false;
  }
}
