package dev.tidepool.methods.bytecode;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.WorkItem;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.Function;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.KernelExpression.Read;
import dev.tidepool.methods.tree.Statement.Atomic;
import dev.tidepool.methods.tree.Statement.AtomicOperation;
import dev.tidepool.methods.tree.Statement.Barrier;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.lang.classfile.Instruction;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Translates calls: of the work item's methods, of known functions, and of other static methods.
 */
final class CallTranslator {
  private static final String WORK_ITEM = WorkItem.class.getName();

  private static final Set<String> BOXES =
      Stream.of(
              Boolean.class,
              Byte.class,
              Character.class,
              Double.class,
              Float.class,
              Integer.class,
              Long.class,
              Short.class)
          .map(Class::getName)
          .collect(Collectors.toUnmodifiableSet());

  private final MethodTranslator method;
  private final BlockTranslator block;
  private final Place place;

  CallTranslator(MethodTranslator method, BlockTranslator block) {
    this.method = method;
    this.block = block;
    this.place = block.place();
  }

  void translate(InvokeInstruction call) {
    String owner = call.owner().asInternalName().replace('/', '.');
    String name = call.name().stringValue();
    MethodTypeDesc type = call.typeSymbol();
    if (call.opcode() != Opcode.INVOKESTATIC) {
      if (!owner.equals(WORK_ITEM)) {
        refuseBoxes(owner, name);
        throw place.refuse(
            "the call of " + shown(owner, name) + ", which is no static method,",
            "call static methods over numbers and arrays");
      }
      itemCall(name, type);
      return;
    }
    Optional<Function> function = known(owner, name, type);
    if (function.isPresent()) {
      List<KernelExpression> arguments = new ArrayList<>();
      function.get().parameters().forEach(_ -> arguments.addFirst(block.value()));
      block.push(new KernelExpression.Call(function.get(), arguments));
    } else {
      staticCall(call, owner, name, type);
    }
  }

  private static Optional<Function> known(String owner, String name, MethodTypeDesc type) {
    List<ValueType> parameters = new ArrayList<>();
    for (ClassDesc parameter : type.parameterList()) {
      TypeKind kind = TypeKind.from(parameter);
      // No known function takes a short integer or a reference.
      if (kind == TypeKind.REFERENCE || kind.asLoadable() != kind) {
        return Optional.empty();
      }
      parameters.add(Types.of(kind));
    }
    return Function.of(owner, name, parameters);
  }

  private static String shown(String owner, String name) {
    if (owner.startsWith("[")) {
      return ClassDesc.ofDescriptor(owner).displayName() + "." + name;
    }
    return owner.substring(owner.lastIndexOf('.') + 1).replace('$', '.') + "." + name;
  }

  /**
   * Refuses the call that the compiler puts in front of a switch over an object; the source does
   * not contain it.
   */
  private void refuseSwitchOverObject(String owner, String name) {
    if (!owner.equals("java.util.Objects") || !name.equals("requireNonNull")) {
      return;
    }
    List<Instruction> all = method.code().instructions();
    for (int i = place.instruction(); i < Math.min(all.size(), place.instruction() + 10); i++) {
      if (all.get(i) instanceof InvokeDynamicInstruction next) {
        throw Constructs.refuse(next, place);
      }
    }
  }

  /**
   * Refuses the calls that the compiler puts around boxed values; the source does not contain them.
   */
  private void refuseBoxes(String owner, String name) {
    if (BOXES.contains(owner) && (name.equals("valueOf") || name.endsWith("Value"))) {
      throw place.refuse("a boxed value", "use a primitive type, such as int in place of Integer");
    }
  }

  private void staticCall(InvokeInstruction call, String owner, String name, MethodTypeDesc type) {
    refuseSwitchOverObject(owner, name);
    if (TypeKind.from(type.returnType()) == TypeKind.REFERENCE) {
      refuseBoxes(owner, name);
    }
    MethodCode called = code(call.owner().asInternalName(), shown(owner, name), name, type);
    List<StackOperand> operands = new ArrayList<>();
    type.parameterList().forEach(_ -> operands.addFirst(block.pop()));
    for (StackOperand operand : operands) {
      if (operand instanceof StackOperand.Mixed) {
        throw place.refuse(
            "a variable that may be one of two arrays", "call the method once for each array");
      }
    }
    TypeKind result = TypeKind.from(type.returnType());
    if (result == TypeKind.REFERENCE) {
      throw place.refuse(
          "the call of " + shown(owner, name) + ", which returns an object or array,",
          "write the steps as loops over numbers and arrays");
    }
    if (method.isTrial()) {
      if (result != TypeKind.VOID) {
        block.push(new Read(block.fresh(Types.of(result))));
      }
      return;
    }
    MethodTranslator.Called translated = method.call(called, operands, place);
    block.addAll(translated.statements());
    Variable value = translated.result();
    if (value != null) {
      block.push(new Read(value));
    }
  }

  private MethodCode code(String owner, String shown, String name, MethodTypeDesc type) {
    try {
      return method
          .files()
          .method(owner, name, type)
          .orElseThrow(() -> unreadable(shown, "cannot be read or has no body for it"));
    } catch (ClassFiles.UnreadableException e) {
      throw Refusal.because(e, unreadable(shown, e.getMessage()));
    }
  }

  private KernelCompilationException unreadable(String shown, String why) {
    return place.refuse(
        "the call of " + shown + ", whose class file " + why + ",",
        "write what it does in the kernel's class");
  }

  private void itemCall(String name, MethodTypeDesc type) {
    switch (name) {
      case "globalId" -> number(ItemNumber.Kind.GLOBAL_ID);
      case "localId" -> number(ItemNumber.Kind.LOCAL_ID);
      case "groupId" -> number(ItemNumber.Kind.GROUP_ID);
      case "globalSize" -> number(ItemNumber.Kind.GLOBAL_SIZE);
      case "groupSize" -> number(ItemNumber.Kind.GROUP_SIZE);
      case "barrier" -> {
        popItem();
        block.add(new Barrier(place.frame()));
      }
      case "localBytes" -> shared(ElementKind.BYTE);
      case "localShorts" -> shared(ElementKind.SHORT);
      case "localInts" -> shared(ElementKind.INT);
      case "localLongs" -> shared(ElementKind.LONG);
      case "localFloats" -> shared(ElementKind.FLOAT);
      case "localDoubles" -> shared(ElementKind.DOUBLE);
      case "atomicAdd" -> atomic(AtomicOperation.ADD);
      case "atomicMin" -> atomic(AtomicOperation.MIN);
      case "atomicMax" -> atomic(AtomicOperation.MAX);
      case "atomicCompareAndSet" -> atomic(AtomicOperation.COMPARE_AND_SET);
      default ->
          throw place.refuse(
              "WorkItem." + name + type.displayDescriptor(),
              "declare arrays and scalars as parameters of the method");
    }
  }

  private void popItem() {
    if (!(block.pop() instanceof StackOperand.Item)) {
      throw place.refuse("a WorkItem that is not the method's own", "use the parameter");
    }
  }

  private void number(ItemNumber.Kind kind) {
    KernelExpression dimension = block.value();
    if (!(dimension instanceof Constant(_, long bits)) || bits < 0 || bits > 2) {
      throw place.refuse(
          "a dimension that is not the constant 0, 1 or 2",
          "write WorkItem's method once for each dimension");
    }
    popItem();
    block.push(new ItemNumber(kind, (int) bits));
  }

  private void shared(ElementKind kind) {
    KernelExpression length = block.value();
    if (!(length instanceof Constant(_, long count)) || count < 0) {
      throw place.refuse(
          "memory of the group whose length is no constant",
          "give it a static final length that is enough for the largest group");
    }
    popItem();
    block.push(new StackOperand.Array(method.sharedArray(place.instruction(), kind, (int) count)));
  }

  private void atomic(AtomicOperation operation) {
    boolean compares = operation == AtomicOperation.COMPARE_AND_SET;
    KernelExpression value = block.value();
    @Nullable KernelExpression expected = compares ? block.value() : null;
    KernelExpression index = block.value();
    KernelArray array = block.array();
    popItem();
    if (array instanceof KernelArray.Private) {
      throw place.refuse(
          "an atomic operation on an array of the item itself", "use a plain assignment");
    }
    Variable before = block.fresh(value.type());
    block.add(
        new Atomic(
            before,
            operation,
            array,
            index,
            expected,
            value,
            method.numbers().index(array, block.frames())));
    block.push(
        expected == null
            ? new Read(before)
            : new Compare(Comparison.EQUAL, new Read(before), expected, false));
  }
}
