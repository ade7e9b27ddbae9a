package dev.tidepool.methods.bytecode;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Assign;
import dev.tidepool.methods.tree.Statement.Block;
import dev.tidepool.methods.tree.Statement.Break;
import dev.tidepool.methods.tree.Statement.Label;
import dev.tidepool.methods.tree.Statement.Return;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Translates one method: a kernel's own, or a called one, which is inlined.
 *
 * <p>The array of a reference at the start of a block depends on the blocks before it and, in
 * loops, on later blocks. The blocks are therefore translated for their frames alone until no frame
 * changes, and then once more for their statements.
 */
final class MethodTranslator {
  /** The most instructions of a kernel with all methods that it calls. */
  private static final int MOST_INSTRUCTIONS = 20_000;

  /** A local variable, by its number, or a place of the stack; has one variable for each type. */
  private record Slot(int index, boolean isStack, ValueType type) {}

  private final MethodCode code;
  private final ClassFiles files;
  private final FieldConstants fields;
  private final List<MethodCode> callers;
  // The place where this method is called, where its caller is called, and so on.
  private final List<StackTraceElement> calls;
  private final Numbers made;
  private final @Nullable Label leaving;
  private final @Nullable Variable result;
  private final Map<Slot, Variable> variables = new HashMap<>();
  private final Map<Integer, KernelArray> arrays = new HashMap<>();
  private @Nullable LocalRanges locals;
  // While frames are computed, numbers other than those of slots and arrays are discarded.
  private @Nullable Numbers trial;

  private MethodTranslator(
      MethodCode code,
      ClassFiles files,
      FieldConstants fields,
      List<MethodCode> callers,
      List<StackTraceElement> calls,
      Numbers made,
      boolean isCalled) {
    this.code = code;
    this.files = files;
    this.fields = fields;
    this.callers = callers;
    this.calls = calls;
    this.made = made;
    this.leaving = isCalled ? made.label() : null;
    ClassDesc type = code.type().returnType();
    this.result =
        isCalled && !type.descriptorString().equals("V")
            ? made.variable(Types.of(TypeKind.from(type)))
            : null;
  }

  /**
   * Returns the statements of a kernel's method.
   *
   * @param operands the values of its parameters
   */
  static List<Statement> kernel(
      MethodCode code,
      ClassFiles files,
      FieldConstants fields,
      Numbers numbers,
      List<StackOperand> operands) {
    return new MethodTranslator(code, files, fields, List.of(code), List.of(), numbers, false)
        .translate(operands);
  }

  /** An inlined method: its statements, and the variable of its result. */
  record Called(List<Statement> statements, @Nullable Variable result) {}

  /** Translates a method that this one calls. */
  Called call(MethodCode called, List<StackOperand> operands, Place place) {
    if (callers.stream().map(MethodTranslator::key).anyMatch(key(called)::equals)) {
      throw place.refuse("the recursive call of " + called.shown(), "write it as a loop");
    }
    List<MethodCode> path = new ArrayList<>(callers);
    path.add(called);
    MethodTranslator translator =
        new MethodTranslator(called, files, fields, path, frames(place), made, true);
    List<Statement> statements;
    try {
      statements = translator.translate(operands);
    } catch (KernelCompilationException e) {
      // The length is that of the kernel, whatever the method in which it is exceeded.
      throw called.isOfJava() && !isTooLong() ? place.refuseCall(called, e) : e;
    }
    return new Called(
        List.of(new Block(Objects.requireNonNull(translator.leaving), statements)),
        translator.result);
  }

  /** Returns a place of this method, and the places of the calls that lead to the method. */
  List<StackTraceElement> frames(Place place) {
    List<StackTraceElement> frames = new ArrayList<>();
    frames.add(place.frame());
    frames.addAll(calls);
    return frames;
  }

  private static String key(MethodCode code) {
    return code.frame(0).getClassName() + "." + code.shown() + code.type().descriptorString();
  }

  private List<Statement> translate(List<StackOperand> operands) {
    if (code.firstMonitor().isPresent()) {
      throw new Place(code, code.firstMonitor().getAsInt())
          .refuse("synchronized", "use the atomic operations of WorkItem");
    }
    if (code.firstTry().isPresent()) {
      Place place = new Place(code, code.firstTry().getAsInt());
      throw code.instructions().stream().anyMatch(Constructs::isOfRecordPattern)
          ? place.refuse("a pattern of a record", "use numbers and arrays")
          : place.refuse("try", "check before instead of catching");
    }
    made.count(code.instructions().size());
    if (isTooLong()) {
      throw Refusal.of(
          callers.getFirst().shown(),
          "has, with the methods that it calls, more than "
              + MOST_INSTRUCTIONS
              + " instructions; divide it into several kernels");
    }
    FlowGraph graph = FlowGraph.of(code);
    LocalRanges ranges = LocalRanges.of(code.instructions(), graph, code.parameterSlots());
    locals = ranges;
    List<Statement> statements = new ArrayList<>();
    StackFrame entry = new StackFrame();
    int slot = 0;
    for (int i = 0; i < operands.size(); i++) {
      TypeKind kind = TypeKind.from(code.type().parameterType(i));
      if (operands.get(i) instanceof StackOperand.Value(KernelExpression value)) {
        statements.add(new Assign(local(ranges.parameter(slot), value.type()), value));
      } else {
        entry.setLocal(slot, operands.get(i));
      }
      slot += kind.slotSize();
    }
    StackFrame[] frames = frames(graph, entry);
    List<TranslatedBlock> blocks = new ArrayList<>();
    for (int i = 0; i < frames.length; i++) {
      blocks.add(BlockTranslator.translate(this, graph.blocks().get(i), frames[i].copy()));
    }
    statements.addAll(Structurer.structure(code, graph, blocks, made));
    return statements;
  }

  private boolean isTooLong() {
    return made.instructions() > MOST_INSTRUCTIONS;
  }

  /** Returns the frame at the start of each block. */
  private StackFrame[] frames(FlowGraph graph, StackFrame entry) {
    List<FlowGraph.BasicBlock> blocks = graph.blocks();
    @Nullable StackFrame[] frames = new StackFrame[blocks.size()];
    frames[0] = entry;
    BitSet changed = new BitSet();
    changed.set(0);
    // In order: the blocks that lead to a block come before it, except along back edges.
    for (int i = 0; i >= 0; i = changed.nextSetBit(0)) {
      changed.clear(i);
      trial = new Numbers();
      StackFrame frame = Objects.requireNonNull(frames[i], "a block before it was first").copy();
      var _ = BlockTranslator.translate(this, blocks.get(i), frame);
      for (int next : blocks.get(i).successors()) {
        StackFrame known = frames[next];
        if (known == null) {
          frames[next] = frame.copy();
          changed.set(next);
        } else if (known.merge(frame)) {
          changed.set(next);
        }
      }
    }
    trial = null;
    return Arrays.stream(frames)
        .map(frame -> Objects.requireNonNull(frame, "every block is reachable"))
        .toArray(StackFrame[]::new);
  }

  /** Returns whether only frames are computed. */
  boolean isTrial() {
    return trial != null;
  }

  MethodCode code() {
    return code;
  }

  ClassFiles files() {
    return files;
  }

  FieldConstants fields() {
    return fields;
  }

  /** Returns the numbers for the parts of statements. */
  Numbers numbers() {
    return trial == null ? made : trial;
  }

  /** Returns the local variable that a load, store or increment uses. */
  Variable localAt(int instruction, ValueType type) {
    return local(Objects.requireNonNull(locals, "the graph is known").variable(instruction), type);
  }

  private Variable local(int number, ValueType type) {
    return variables.computeIfAbsent(
        new Slot(number, false, type), key -> made.variable(key.type()));
  }

  /** Returns the variable that passes on the stack entry at a depth when a block ends. */
  Variable stackVariable(int depth, ValueType type) {
    return variables.computeIfAbsent(new Slot(depth, true, type), key -> made.variable(key.type()));
  }

  /** Returns the array that an instruction creates. */
  KernelArray.Private privateArray(int instruction, ElementKind kind, int length) {
    return (KernelArray.Private)
        arrays.computeIfAbsent(instruction, _ -> made.privateArray(kind, length));
  }

  /** Returns the memory of the group that a call requests. */
  KernelArray.Shared sharedArray(int instruction, ElementKind kind, int length) {
    return (KernelArray.Shared)
        arrays.computeIfAbsent(instruction, _ -> made.sharedArray(kind, length));
  }

  /** Adds the statement that leaves the method. */
  void leave(List<Statement> statements) {
    statements.add(leaving == null ? new Return() : new Break(leaving));
  }

  /** Adds the statements that leave the method with its result. */
  void leave(List<Statement> statements, KernelExpression value) {
    if (result != null) {
      statements.add(new Assign(result, value));
    }
    leave(statements);
  }
}
