package dev.tidepool.methods.bytecode;

import java.lang.classfile.Attributes;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeElement;
import java.lang.classfile.Instruction;
import java.lang.classfile.Label;
import java.lang.classfile.MethodModel;
import java.lang.classfile.attribute.CodeAttribute;
import java.lang.classfile.instruction.ExceptionCatch;
import java.lang.classfile.instruction.LabelTarget;
import java.lang.classfile.instruction.LineNumber;
import java.lang.classfile.instruction.LocalVariable;
import java.lang.classfile.instruction.MonitorInstruction;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** The instructions of a static method, with the lines and names that its class file has. */
final class MethodCode {
  private final String owner;
  private final String name;
  private final MethodTypeDesc type;
  private final @Nullable String file;
  private final List<Instruction> instructions = new ArrayList<>();
  private final List<Integer> lines = new ArrayList<>();
  private final Map<Label, Integer> targets = new HashMap<>();
  private final Map<Integer, String> names = new HashMap<>();
  private final OptionalInt firstTry;
  private final OptionalInt firstMonitor;

  private MethodCode(ClassModel type, MethodModel method, CodeAttribute code) {
    this.owner = type.thisClass().asInternalName().replace('/', '.');
    this.name = method.methodName().stringValue();
    this.type = method.methodTypeSymbol();
    this.file =
        type.findAttribute(Attributes.sourceFile())
            .map(attribute -> attribute.sourceFile().stringValue())
            .orElse(null);
    List<Label> tries = new ArrayList<>();
    int monitor = method.flags().has(AccessFlag.SYNCHRONIZED) ? 0 : -1;
    int line = 0;
    for (CodeElement element : code) {
      switch (element) {
        case Instruction instruction -> {
          if (monitor < 0 && instruction instanceof MonitorInstruction) {
            monitor = instructions.size();
          }
          instructions.add(instruction);
          lines.add(line);
        }
        case LabelTarget target -> targets.put(target.label(), instructions.size());
        case LineNumber number -> line = number.line();
        case LocalVariable variable when isParameter(variable.slot()) ->
            names.putIfAbsent(variable.slot(), variable.name().stringValue());
        case ExceptionCatch handler -> tries.add(handler.tryStart());
        default -> {
          // Types of locals and the like are not needed.
        }
      }
    }
    this.firstTry = tries.stream().mapToInt(this::target).min();
    this.firstMonitor = monitor < 0 ? OptionalInt.empty() : OptionalInt.of(monitor);
    method
        .findAttribute(Attributes.methodParameters())
        .ifPresent(
            attribute -> {
              int slot = 0;
              for (int i = 0; i < attribute.parameters().size(); i++) {
                int at = slot;
                attribute
                    .parameters()
                    .get(i)
                    .name()
                    .ifPresent(name -> names.put(at, name.stringValue()));
                slot += slotsOf(i);
              }
            });
  }

  private boolean isParameter(int slot) {
    return slot < parameterSlots();
  }

  /** Returns how many slots the parameters have. */
  int parameterSlots() {
    int slots = 0;
    for (int i = 0; i < type.parameterCount(); i++) {
      slots += slotsOf(i);
    }
    return slots;
  }

  private int slotsOf(int parameter) {
    String descriptor = type.parameterType(parameter).descriptorString();
    return descriptor.equals("J") || descriptor.equals("D") ? 2 : 1;
  }

  /**
   * Returns a method of a class.
   *
   * @return empty if the class declares no such method, or has no class file
   * @throws ClassFiles.UnreadableException if its class file cannot be read
   */
  static Optional<MethodCode> find(
      ClassFiles files, String owner, String name, MethodTypeDesc type) {
    try {
      return search(files, owner, name, type);
    } catch (IllegalArgumentException e) {
      // A class file is parsed only as far as it is read.
      throw new ClassFiles.UnreadableException(e);
    }
  }

  private static Optional<MethodCode> search(
      ClassFiles files, String owner, String name, MethodTypeDesc type) {
    Optional<ClassModel> found = files.find(owner);
    while (found.isPresent()) {
      ClassModel model = found.get();
      for (MethodModel method : model.methods()) {
        boolean isWanted =
            method.methodName().equalsString(name)
                && method.methodType().equalsString(type.descriptorString());
        if (isWanted && method.flags().has(AccessFlag.STATIC)) {
          return method.findAttribute(Attributes.code()).map(code -> of(model, method, code));
        }
      }
      found = model.superclass().flatMap(parent -> files.find(parent.asInternalName()));
    }
    return Optional.empty();
  }

  private static MethodCode of(ClassModel model, MethodModel method, CodeAttribute code) {
    return new MethodCode(model, method, code);
  }

  /** Parses the bytes of a class file. */
  static ClassModel parse(byte[] bytes) {
    return ClassFile.of().parse(bytes);
  }

  MethodTypeDesc type() {
    return type;
  }

  List<Instruction> instructions() {
    return instructions;
  }

  /** Returns the line of an instruction; 0 if the class file does not say. */
  int line(int instruction) {
    return lines.get(instruction);
  }

  /** Returns the index of the instruction after a label. */
  int target(Label label) {
    return Objects.requireNonNull(targets.get(label), "a label of this method");
  }

  /** Returns the name of the parameter in a slot; empty if the class file does not say. */
  Optional<String> parameterName(int slot) {
    return Optional.ofNullable(names.get(slot));
  }

  /** Returns the first instruction of a {@code try} block; empty if there is none. */
  OptionalInt firstTry() {
    return firstTry;
  }

  /**
   * Returns the first instruction from which on the method is synchronized; empty if there is none.
   */
  OptionalInt firstMonitor() {
    return firstMonitor;
  }

  /** Returns the place of an instruction, as in a stack trace. */
  StackTraceElement frame(int instruction) {
    int line = line(instruction);
    return new StackTraceElement(owner, name, file, line > 0 ? line : -1);
  }

  /** Returns whether the method is one of Java's own libraries, whose lines do not help users. */
  boolean isOfJava() {
    return owner.startsWith("java.");
  }

  /** Returns the class without its package, and the method. */
  String shown() {
    return owner.substring(owner.lastIndexOf('.') + 1).replace('$', '.') + "." + name;
  }
}
