package dev.tidepool.methods.jvm;

import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.tidepool.expression.types.Known;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.Site;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.OperatorInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes the statements of one item. */
final class StatementWriter {
  private static final ClassDesc FAULT = JvmNames.of(KernelFault.class);
  private static final ClassDesc STEPS = JvmNames.of(AtomicSteps.class);

  private final CodeBuilder code;
  private final Frame frame;
  private final BytecodeExpressionWriter expressions;
  private final AccessWriter access;
  private final HeapArrays heap;
  private final Map<Statement.Label, Targets> targets = new HashMap<>();

  /** Writes the code that ends an item, or parks it. */
  private final ItemEnd end;

  /** The targets of jumps to a label. */
  private record Targets(Label behind, @Nullable Label start) {}

  /** Writes the end of an item. */
  interface ItemEnd {
    /**
     * Ends the item for the rest of the kernel, or parks it until the end of a block or loop of the
     * group.
     */
    void write(int parked);
  }

  /** The local variables of private and shared arrays. */
  interface HeapArrays {
    int of(KernelArray array);
  }

  StatementWriter(
      CodeBuilder code,
      Frame frame,
      BytecodeExpressionWriter expressions,
      AccessWriter access,
      HeapArrays heap,
      ItemEnd end) {
    this.code = code;
    this.frame = frame;
    this.expressions = expressions;
    this.access = access;
    this.heap = heap;
    this.end = end;
  }

  void write(List<Statement> list) {
    list.forEach(this::write);
  }

  private void write(Statement statement) {
    switch (statement) {
      case Statement.Assign(Variable target, KernelExpression value) -> {
        expressions.push(value);
        set(target);
      }
      case Statement.Load(
              Variable target,
              KernelArray array,
              KernelExpression index,
              Site site) -> {
        access.load(array, heapArray(array), index, site);
        set(target);
      }
      case Statement.Store(
              KernelArray array,
              KernelExpression index,
              KernelExpression value,
              Site site) ->
          access.store(array, heapArray(array), index, value, site);
      case Statement.Divide divide -> divide(divide);
      case Statement.Atomic atomic -> atomic(atomic);
      case Statement.Clear(KernelArray.Private array) -> clear(array);
      case Statement.Barrier _ -> throw new IllegalStateException("a barrier inside of an item");
      case Statement.If branch -> branch(branch);
      case Statement.Loop(Statement.Label label, List<Statement> body) -> {
        Label start = code.newBoundLabel();
        Label behind = code.newLabel();
        targets.put(label, new Targets(behind, start));
        write(body);
        code.goto_(start).labelBinding(behind);
      }
      case Statement.Block(Statement.Label label, List<Statement> body) -> {
        Label behind = code.newLabel();
        targets.put(label, new Targets(behind, null));
        write(body);
        code.labelBinding(behind);
      }
      case Statement.Break(Statement.Label label) -> {
        Targets known = targets.get(label);
        if (known != null) {
          code.goto_(known.behind());
        } else {
          end.write(ParkedItems.waiting(label.id()));
        }
      }
      case Statement.Continue(Statement.Label label) -> {
        Targets known = targets.get(label);
        if (known != null && known.start() != null) {
          code.goto_(known.start());
        } else {
          end.write(ParkedItems.waiting(label.id()));
        }
      }
      case Statement.Return _ -> end.write(ParkedItems.RETURNED);
    }
  }

  private int heapArray(KernelArray array) {
    return array instanceof KernelArray.Argument ? -1 : heap.of(array);
  }

  private void set(Variable variable) {
    code.storeLocal(JvmNames.kind(variable.type()), frame.of(variable));
  }

  private void branch(Statement.If branch) {
    List<Statement> then = branch.then();
    if (then.size() == 1
        && then.getFirst() instanceof Statement.Break(Statement.Label label)
        && targets.containsKey(label)) {
      expressions.jump(branch.condition(), true, Known.in(targets, label).behind());
      write(branch.otherwise());
      return;
    }
    Label otherwise = code.newLabel();
    expressions.jump(branch.condition(), false, otherwise);
    write(then);
    if (branch.otherwise().isEmpty()) {
      code.labelBinding(otherwise);
      return;
    }
    Label behind = code.newLabel();
    code.goto_(behind).labelBinding(otherwise);
    write(branch.otherwise());
    code.labelBinding(behind);
  }

  /**
   * Writes a division. The divisor is tested unless it is a constant other than 0: the libraries of
   * devices replace the signal handler by which the virtual machine notices a division by zero.
   */
  private void divide(Statement.Divide divide) {
    boolean isLong = divide.dividend().type() == ValueType.LONG;
    TypeKind kind = isLong ? TypeKind.LONG : TypeKind.INT;
    int divisor = isLong ? frame.longScratch() : frame.intScratch();
    expressions.push(divide.divisor());
    code.storeLocal(kind, divisor);
    Site site = divide.site();
    boolean isKnown =
        divide.divisor() instanceof KernelExpression.Constant constant && constant.bits() != 0;
    if (!isKnown) {
      Label defined = code.newLabel();
      code.loadLocal(kind, divisor);
      if (isLong) {
        code.lconst_0().lcmp();
      }
      code.branch(Opcode.IFNE, defined);
      code.loadConstant(site == null ? KernelFault.NOWHERE : site.id());
      code.invokestatic(FAULT, "division", MethodTypeDesc.of(FAULT, CD_int));
      code.athrow().labelBinding(defined);
    }
    expressions.push(divide.dividend());
    code.loadLocal(kind, divisor);
    Opcode quotient = isLong ? Opcode.LDIV : Opcode.IDIV;
    Opcode remainder = isLong ? Opcode.LREM : Opcode.IREM;
    code.with(OperatorInstruction.of(divide.isRemainder() ? remainder : quotient));
    set(divide.target());
  }

  private void clear(KernelArray.Private array) {
    int local = heap.of(array);
    ClassDesc type = JvmNames.array(array.kind());
    ClassDesc element = JvmNames.element(array.kind()).upperBound();
    code.aload(local).loadConstant(0);
    switch (JvmNames.element(array.kind())) {
      case LONG -> code.i2l();
      case FLOAT -> code.i2f();
      case DOUBLE -> code.i2d();
      default -> {}
    }
    code.invokestatic(JvmNames.of(Arrays.class), "fill", MethodTypeDesc.of(CD_void, type, element));
  }

  private void atomic(Statement.Atomic atomic) {
    KernelArray array = atomic.array();
    ElementKind kind = array.kind();
    AccessWriter.Index index = access.index(atomic.index(), atomic.site());
    ClassDesc holder;
    if (array instanceof KernelArray.Argument argument) {
      holder = JvmNames.SEGMENT;
      code.aload(frame.of(new MemoryPlan.Segment(argument.index())));
    } else {
      holder = JvmNames.array(kind);
      code.aload(heap.of(array));
    }
    index.pushInt();
    ClassDesc element = JvmNames.element(kind).upperBound();
    List<ClassDesc> parameters = new ArrayList<>(List.of(holder, CD_int, element));
    KernelExpression expected = atomic.expected();
    if (expected != null) {
      expressions.push(expected);
      parameters.add(element);
    }
    expressions.push(atomic.value());
    String method =
        switch (atomic.operation()) {
          case ADD -> "add";
          case MIN -> "min";
          case MAX -> "max";
          case COMPARE_AND_SET -> "compareAndSet";
        };
    MethodTypeDesc type = MethodTypeDesc.of(element, parameters);
    access.guarded(array, index, atomic.site(), () -> code.invokestatic(STEPS, method, type));
    Variable target = atomic.target();
    if (target != null) {
      set(target);
    } else if (kind.bytes() == 8) {
      code.pop2();
    } else {
      code.pop();
    }
  }
}
