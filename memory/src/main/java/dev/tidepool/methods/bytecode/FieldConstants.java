package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.spi.support.FailureText;
import java.io.PrintStream;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.reflect.Field;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Modifier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the values of {@code static final} primitive fields. The compiler has put most of them into
 * the bytecode; this class reads those that the initialisation of their class computes.
 */
final class FieldConstants {
  private final @Nullable ClassLoader loader;
  private final ClassFiles files;

  /** Creates an instance for fields of classes that the loader of a class finds. */
  FieldConstants(Class<?> type, ClassFiles files) {
    this.loader = type.getClassLoader();
    this.files = files;
  }

  /**
   * Returns the value of a field that an instruction reads.
   *
   * @throws dev.tidepool.KernelCompilationException if the instruction writes the field, or if the
   *     field is no constant or cannot be read
   */
  Constant constant(FieldInstruction instruction, Place place) {
    String owner = instruction.owner().asInternalName().replace('/', '.');
    String name = instruction.name().stringValue();
    String shown = "the field " + owner.substring(owner.lastIndexOf('.') + 1) + "." + name;
    if (name.equals("$assertionsDisabled")) {
      throw place.refuse("assert", "check the arguments before the launch");
    }
    if (name.startsWith("$SwitchMap$")) {
      throw place.refuse("a switch over an enum", "switch over an int");
    }
    if (instruction.opcode() == Opcode.PUTSTATIC || instruction.opcode() == Opcode.PUTFIELD) {
      throw place.refuse(
          shown + ", which is assigned,", "write the value to an array that is a parameter");
    }
    if (instruction.opcode() != Opcode.GETSTATIC) {
      throw place.refuse(shown, "pass its value as a parameter");
    }
    try {
      Class<?> type = Class.forName(owner, true, loader);
      Field field = field(type, name);
      if (field == null) {
        throw new NoSuchFieldException(name);
      }
      if (!Modifier.isFinal(field.getModifiers())) {
        throw place.refuse(
            shown + ", which is not final,",
            "pass its value as a parameter, make it static final if it never changes, or write to"
                + " an array that is a parameter");
      }
      field.setAccessible(true);
      Constant constant = constant(field.get(null), shown, place);
      if (constant.bits() == 0
          && ClassInitialization.isAhead(field.getDeclaringClass(), name, files)) {
        throw place.refuse(
            shown + ", which has no value yet because its class is being initialised,",
            "declare it above the kernel, or compile the kernel when its class is initialised");
      }
      return constant;
    } catch (ReflectiveOperationException | InaccessibleObjectException | LinkageError e) {
      throw place.refuse(
          shown + ", which cannot be read (" + FailureText.of(e) + "),",
          "pass its value as a parameter");
    }
  }

  /**
   * Returns a field that a class declares or inherits, in the order of the Java Virtual Machine
   * Specification, 5.4.3.2; null if there is none.
   */
  private static @Nullable Field field(Class<?> type, String name) {
    for (Field declared : type.getDeclaredFields()) {
      if (declared.getName().equals(name)) {
        return declared;
      }
    }
    for (Class<?> parent : type.getInterfaces()) {
      Field inherited = field(parent, name);
      if (inherited != null) {
        return inherited;
      }
    }
    Class<?> parent = type.getSuperclass();
    return parent == null ? null : field(parent, name);
  }

  private static Constant constant(@Nullable Object value, String shown, Place place) {
    return switch (value) {
      case Integer number -> Constant.of(number);
      case Short number -> Constant.of(number);
      case Byte number -> Constant.of(number);
      case Character letter -> Constant.of(letter);
      case Boolean truth -> Constant.of(truth ? 1 : 0);
      case Long number -> Constant.of(number);
      case Float number -> new Constant(ValueType.FLOAT, Float.floatToRawIntBits(number));
      case Double number -> new Constant(ValueType.DOUBLE, Double.doubleToRawLongBits(number));
      case PrintStream _ ->
          throw place.refuse(shown, "write numbers to an array, and print them after the launch");
      case Enum<?> _ ->
          throw place.refuse(
              shown + ", which is of an enum,", "use an int, or pass its ordinal as a parameter");
      case null, default ->
          throw place.refuse(
              shown + ", which is no primitive,",
              value != null && value.getClass().isArray()
                  ? "pass the array as a parameter"
                  : "pass its numbers as parameters");
    };
  }
}
