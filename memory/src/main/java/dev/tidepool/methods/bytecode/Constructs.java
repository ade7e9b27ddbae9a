package dev.tidepool.methods.bytecode;

import dev.tidepool.KernelCompilationException;
import java.lang.classfile.Instruction;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.NewMultiArrayInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.NewReferenceArrayInstruction;
import java.lang.classfile.instruction.ThrowInstruction;
import java.lang.classfile.instruction.TypeCheckInstruction;
import java.util.Locale;

/**
 * Names the source construct of an instruction that no kernel can have, and what to write instead.
 */
final class Constructs {
  private static final String INSTEAD_OF_EXCEPTIONS =
      "write an error value to an array, or check the arguments before the launch";

  private Constructs() {}

  /** Returns the error about an instruction. */
  static KernelCompilationException refuse(Instruction instruction, Place place) {
    return switch (instruction) {
      case InvokeDynamicInstruction call ->
          place.refuse(dynamic(call), "write the steps as statements over numbers and arrays");
      case NewObjectInstruction created -> {
        String type = created.className().asSymbol().displayName();
        yield place.refuse(
            "new " + type + "(...)",
            type.endsWith("Exception") || type.endsWith("Error")
                ? INSTEAD_OF_EXCEPTIONS
                : "use local variables and arrays of primitives");
      }
      case NewReferenceArrayInstruction _, NewMultiArrayInstruction _ ->
          place.refuse(
              "an array of objects or of arrays", "use one array with row * columns + column");
      case ThrowInstruction _ -> place.refuse("throwing an exception", INSTEAD_OF_EXCEPTIONS);
      case TypeCheckInstruction _ ->
          place.refuse("a cast or test of an object's type", "use numbers and arrays");
      default ->
          place.refuse(
              "the instruction " + instruction.opcode().name().toLowerCase(Locale.ROOT),
              "use the subset of Java that KernelSource.method lists");
    };
  }

  /**
   * Returns whether an instruction belongs to the handler that the compiler puts around record
   * patterns.
   */
  static boolean isOfRecordPattern(Instruction instruction) {
    return instruction instanceof NewObjectInstruction created
        && created.className().asInternalName().equals("java/lang/MatchException");
  }

  /** Returns the source construct of a call site that is linked at run time. */
  private static String dynamic(InvokeDynamicInstruction call) {
    return switch (call.bootstrapMethod().owner().displayName()) {
      case "LambdaMetafactory" -> "a lambda or method reference";
      case "StringConcatFactory" -> "a joined string";
      case "SwitchBootstraps" -> "a switch over patterns or objects";
      default -> "a call that is linked at run time";
    };
  }
}
