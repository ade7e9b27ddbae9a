package dev.tidepool.methods.bytecode;

import dev.tidepool.methods.bytecode.TranslatedBlock.Branch;
import dev.tidepool.methods.bytecode.TranslatedBlock.Case;
import dev.tidepool.methods.bytecode.TranslatedBlock.Exit;
import dev.tidepool.methods.bytecode.TranslatedBlock.Jump;
import dev.tidepool.methods.bytecode.TranslatedBlock.Leave;
import dev.tidepool.methods.bytecode.TranslatedBlock.Selection;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Binary;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Convert;
import dev.tidepool.methods.tree.KernelExpression.Length;
import dev.tidepool.methods.tree.KernelExpression.Negate;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.KernelExpression.Order;
import dev.tidepool.methods.tree.KernelExpression.Read;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Assign;
import dev.tidepool.methods.tree.Statement.Clear;
import dev.tidepool.methods.tree.Statement.Divide;
import dev.tidepool.methods.tree.Statement.Load;
import dev.tidepool.methods.tree.Statement.Store;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.lang.classfile.Instruction;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.ArrayLoadInstruction;
import java.lang.classfile.instruction.ArrayStoreInstruction;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.ConstantInstruction;
import java.lang.classfile.instruction.ConvertInstruction;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.IncrementInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LoadInstruction;
import java.lang.classfile.instruction.LookupSwitchInstruction;
import java.lang.classfile.instruction.NewPrimitiveArrayInstruction;
import java.lang.classfile.instruction.NopInstruction;
import java.lang.classfile.instruction.OperatorInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.classfile.instruction.StackInstruction;
import java.lang.classfile.instruction.StoreInstruction;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.classfile.instruction.TableSwitchInstruction;
import java.lang.constant.ConstantDesc;
import java.lang.constant.ConstantDescs;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Translates one basic block, with expressions instead of values on the stack. Loads, divisions and
 * calls with effects become statements at once, in their order. Expressions on the stack have no
 * effects. An expression is saved to a new variable before one of its variables changes.
 */
final class BlockTranslator {
  /**
   * The deepest nesting of an expression. Visitors of expressions are recursive, and so are the
   * compilers of drivers; some of these refuse more than 256 nested pairs of parentheses.
   */
  private static final int DEEPEST = 32;

  private final MethodTranslator method;
  private final MethodCode code;
  private final FlowGraph.BasicBlock block;
  private final StackFrame frame;
  private final List<Statement> statements = new ArrayList<>();
  private int at;

  private BlockTranslator(MethodTranslator method, FlowGraph.BasicBlock block, StackFrame frame) {
    this.method = method;
    this.code = method.code();
    this.block = block;
    this.frame = frame;
  }

  /**
   * Translates a block.
   *
   * @param frame the locals and stack at the block's start; the method changes it to those at the
   *     block's end
   */
  static TranslatedBlock translate(
      MethodTranslator method, FlowGraph.BasicBlock block, StackFrame frame) {
    return new BlockTranslator(method, block, frame).translate();
  }

  private TranslatedBlock translate() {
    Exit exit = null; // stays null if the block falls through to the next one
    for (at = block.first(); at < block.end(); at++) {
      exit = step(code.instructions().get(at));
    }
    if (exit == null) {
      exit = new Jump(block.successors().getFirst());
    }
    if (!(exit instanceof Leave)) {
      saveStack();
    }
    return new TranslatedBlock(statements, exit);
  }

  // The exit of a block is that of its last instruction; null means the next block.
  private @Nullable Exit step(Instruction instruction) {
    switch (instruction) {
      case NopInstruction _ -> {}
      case ConstantInstruction _ when isNameOfParameter() -> {
        // An argument of a launch is never null.
        pop();
        at++;
      }
      case ConstantInstruction constant -> push(constant(constant));
      case LoadInstruction load -> load(load);
      case StoreInstruction store -> store(store);
      case IncrementInstruction increment -> {
        Variable local = local(ValueType.INT);
        assign(local, new Binary(Operator.ADD, new Read(local), Constant.of(increment.constant())));
      }
      case ArrayLoadInstruction load -> arrayLoad(load);
      case ArrayStoreInstruction store -> arrayStore(store);
      case OperatorInstruction operator -> operator(operator.opcode());
      case ConvertInstruction convert -> convert(convert);
      case StackInstruction stack ->
          StackShuffle.apply(stack.opcode(), frame.stack(), this::shared);
      case NewPrimitiveArrayInstruction created -> newArray(created.typeKind());
      case FieldInstruction field -> push(method.fields().constant(field, place()));
      case InvokeInstruction call -> new CallTranslator(method, this).translate(call);
      case BranchInstruction branch -> {
        return branch(branch);
      }
      case TableSwitchInstruction table -> {
        return selection(table.cases(), code.target(table.defaultTarget()));
      }
      case LookupSwitchInstruction lookup -> {
        return selection(lookup.cases(), code.target(lookup.defaultTarget()));
      }
      case ReturnInstruction result -> {
        if (result.typeKind() == TypeKind.VOID) {
          method.leave(statements);
        } else if (result.typeKind() == TypeKind.REFERENCE) {
          throw refuse("a method that returns an object or array", "pass the array as a parameter");
        } else {
          method.leave(statements, value());
        }
        return new Leave();
      }
      default -> throw Constructs.refuse(instruction, place());
    }
    return null;
  }

  /** Returns the place of the block's current instruction. */
  Place place() {
    return new Place(code, at);
  }

  /** Returns the place of the current instruction and the calls that lead to it. */
  List<StackTraceElement> frames() {
    return method.frames(place());
  }

  private RuntimeException refuse(String what, String remedy) {
    return place().refuse(what, remedy);
  }

  // Values

  void push(KernelExpression value) {
    frame.stack().add(new StackOperand.Value(Walk.isDeeper(value, DEEPEST) ? saved(value) : value));
  }

  void push(StackOperand operand) {
    frame.stack().add(operand);
  }

  StackOperand pop() {
    return frame.stack().removeLast();
  }

  /** Pops a number. */
  KernelExpression value() {
    return switch (pop()) {
      case StackOperand.Value(KernelExpression value) -> value;
      case StackOperand.Array(KernelArray array) ->
          throw refuse("the array '" + array.name() + "' as a value", "use its elements");
      case StackOperand.Item() -> throw refuse("the WorkItem as a value", "use its numbers");
      case StackOperand.Mixed() -> throw mixed();
    };
  }

  /** Pops an array. */
  KernelArray array() {
    return switch (pop()) {
      case StackOperand.Array(KernelArray array) -> array;
      case StackOperand.Mixed() -> throw mixed();
      case StackOperand.Value _, StackOperand.Item _ ->
          throw refuse("an object that is no array", "use arrays of primitives");
    };
  }

  private RuntimeException mixed() {
    return refuse(
        "a variable that may be one of two arrays",
        "write the statements once for each array, or copy the elements");
  }

  /** Adds a statement with an effect. */
  void add(Statement statement) {
    statements.add(statement);
  }

  /** Adds the statements of a called method. */
  void addAll(List<Statement> added) {
    statements.addAll(added);
  }

  /** Returns a new variable. */
  Variable fresh(ValueType type) {
    return method.numbers().variable(type);
  }

  /** Returns the value in a new variable, unless the value is a variable or constant already. */
  private StackOperand shared(StackOperand operand) {
    if (!(operand instanceof StackOperand.Value(KernelExpression value))
        || value instanceof Read
        || value instanceof Constant) {
      return operand;
    }
    return new StackOperand.Value(saved(value));
  }

  /** Saves a value in a new variable. */
  private Read saved(KernelExpression value) {
    Variable saved = fresh(value.type());
    add(new Assign(saved, value));
    return new Read(saved);
  }

  /** Sets a variable after saving the stack entries that read its old value. */
  private void assign(Variable target, KernelExpression value) {
    saveReaders(target);
    add(new Assign(target, value));
  }

  private void saveReaders(Variable target) {
    List<StackOperand> stack = frame.stack();
    for (int i = 0; i < stack.size(); i++) {
      if (stack.get(i) instanceof StackOperand.Value(KernelExpression value)
          && Walk.reads(value, target)) {
        stack.set(i, new StackOperand.Value(saved(value)));
      }
    }
  }

  // Instructions

  /**
   * Returns whether the current instruction loads the name of a parameter for Kotlin's null check,
   * which the next instruction calls.
   */
  private boolean isNameOfParameter() {
    return at + 1 < block.end()
        && code.instructions().get(at + 1) instanceof InvokeInstruction call
        && call.owner().asInternalName().equals("kotlin/jvm/internal/Intrinsics")
        && call.name().equalsString("checkNotNullParameter");
  }

  private Constant constant(ConstantInstruction constant) {
    return switch (constant.constantValue()) {
      case Integer value -> Constant.of(value);
      case Long value -> Constant.of(value);
      case Float value -> new Constant(ValueType.FLOAT, Float.floatToRawIntBits(value));
      case Double value -> new Constant(ValueType.DOUBLE, Double.doubleToRawLongBits(value));
      case String _ -> throw refuse("a string", "use numbers");
      case ConstantDesc value when value.equals(ConstantDescs.NULL) ->
          throw refuse("null", "use numbers and arrays");
      default -> throw refuse("a constant that is no number", "use numbers");
    };
  }

  /** Returns the variable that the current instruction uses. */
  private Variable local(ValueType type) {
    return method.localAt(at, type);
  }

  private void load(LoadInstruction load) {
    if (load.typeKind() == TypeKind.REFERENCE) {
      push(frame.local(load.slot()));
    } else {
      push(new Read(local(Types.of(load.typeKind()))));
    }
  }

  private void store(StoreInstruction store) {
    if (store.typeKind() == TypeKind.REFERENCE) {
      frame.setLocal(store.slot(), pop());
    } else {
      KernelExpression value = value();
      assign(local(value.type()), value);
    }
  }

  private void arrayLoad(ArrayLoadInstruction load) {
    if (load.typeKind() == TypeKind.REFERENCE || load.typeKind() == TypeKind.CHAR) {
      throw unsupportedElements(load.typeKind());
    }
    KernelExpression index = value();
    KernelArray array = array();
    Variable loaded = fresh(array.kind().loaded());
    add(new Load(loaded, array, index, method.numbers().index(array, frames())));
    push(new Read(loaded));
  }

  private void arrayStore(ArrayStoreInstruction store) {
    if (store.typeKind() == TypeKind.REFERENCE || store.typeKind() == TypeKind.CHAR) {
      throw unsupportedElements(store.typeKind());
    }
    KernelExpression value = value();
    KernelExpression index = value();
    KernelArray array = array();
    add(new Store(array, index, value, method.numbers().index(array, frames())));
  }

  private RuntimeException unsupportedElements(TypeKind kind) {
    return kind == TypeKind.CHAR
        ? refuse("an array of char", "use short[] and mask with 0xFFFF")
        : refuse("an array of objects or of arrays", "use one array with row * columns + column");
  }

  private void newArray(TypeKind kind) {
    if (kind == TypeKind.CHAR) {
      throw unsupportedElements(kind);
    }
    KernelExpression length = value();
    if (!(length instanceof Constant(_, long count))) {
      throw refuse(
          "an array whose length is no constant", "give it a static final length that is enough");
    }
    if ((int) count < 0) {
      throw refuse("an array of negative length", "give it a length of 0 or more");
    }
    KernelArray.Private array = method.privateArray(at, Types.elements(kind), (int) count);
    add(new Clear(array));
    push(new StackOperand.Array(array));
  }

  private void convert(ConvertInstruction convert) {
    push(new Convert(Conversion.valueOf(convert.opcode().name()), value()));
  }

  private void operator(Opcode opcode) {
    switch (opcode) {
      case ARRAYLENGTH -> {
        KernelArray array = array();
        push(
            switch (array) {
              case KernelArray.Argument argument -> new Length(argument);
              case KernelArray.Private own -> Constant.of(own.length());
              case KernelArray.Shared shared -> Constant.of(shared.length());
            });
      }
      case INEG, LNEG, FNEG, DNEG -> push(new Negate(value()));
      case LCMP, FCMPG, DCMPG -> order(1);
      case FCMPL, DCMPL -> order(-1);
      case IDIV, LDIV -> divide(false);
      case IREM, LREM -> divide(true);
      default -> {
        KernelExpression right = value();
        push(ConstantFolding.binary(Types.operator(opcode), value(), right));
      }
    }
  }

  private void order(int unordered) {
    KernelExpression right = value();
    push(new Order(value(), right, unordered));
  }

  private void divide(boolean isRemainder) {
    KernelExpression divisor = value();
    KernelExpression dividend = value();
    boolean isSafe = divisor instanceof Constant(_, long bits) && bits != 0;
    if (isSafe && dividend instanceof Constant known) {
      push(ConstantFolding.divided(known, ((Constant) divisor).bits(), isRemainder));
      return;
    }
    Variable result = fresh(dividend.type());
    add(
        new Divide(
            result,
            isRemainder,
            dividend,
            divisor,
            isSafe ? null : method.numbers().division(frames())));
    push(new Read(result));
  }

  // Ends of blocks

  private Exit branch(BranchInstruction branch) {
    if (FlowGraph.isGoto(branch)) {
      return new Jump(block.successors().getFirst());
    }
    KernelExpression condition =
        switch (branch.opcode()) {
          case IF_ICMPEQ -> compared(Comparison.EQUAL);
          case IF_ICMPNE -> compared(Comparison.NOT_EQUAL);
          case IF_ICMPLT -> compared(Comparison.LESS);
          case IF_ICMPLE -> compared(Comparison.LESS_EQUAL);
          case IF_ICMPGT -> compared(Comparison.GREATER);
          case IF_ICMPGE -> compared(Comparison.GREATER_EQUAL);
          case IFEQ -> comparedToZero(Comparison.EQUAL);
          case IFNE -> comparedToZero(Comparison.NOT_EQUAL);
          case IFLT -> comparedToZero(Comparison.LESS);
          case IFLE -> comparedToZero(Comparison.LESS_EQUAL);
          case IFGT -> comparedToZero(Comparison.GREATER);
          case IFGE -> comparedToZero(Comparison.GREATER_EQUAL);
          default -> throw refuse("a comparison of references", "compare numbers");
        };
    List<Integer> successors = block.successors();
    return successors.size() == 1
        ? new Jump(successors.getFirst())
        : new Branch(settled(condition), successors.get(1), successors.get(0));
  }

  private KernelExpression compared(Comparison comparison) {
    KernelExpression right = value();
    return new Compare(comparison, value(), right, false);
  }

  private KernelExpression comparedToZero(Comparison comparison) {
    KernelExpression value = value();
    return value instanceof Order order
        ? Types.ordered(order, comparison)
        : new Compare(comparison, value, Constant.of(0), false);
  }

  private Exit selection(List<SwitchCase> cases, int otherwise) {
    KernelExpression value = value();
    Map<Integer, List<Integer>> keys = new LinkedHashMap<>();
    for (SwitchCase one : cases) {
      int target = code.target(one.target());
      if (target != otherwise) {
        keys.computeIfAbsent(target, _ -> new ArrayList<>()).add(one.caseValue());
      }
    }
    List<Integer> targets = FlowGraph.targets(code, at);
    if (keys.isEmpty()) {
      return new Jump(block.successors().getFirst());
    }
    Variable key = fresh(ValueType.INT);
    add(new Assign(key, value));
    List<Case> all = new ArrayList<>();
    keys.forEach(
        (target, values) ->
            all.add(new Case(values, block.successors().get(targets.indexOf(target)))));
    return new Selection(key, all, block.successors().get(targets.indexOf(otherwise)));
  }

  /** Returns a condition that stays the same when the variables of the stack are set after it. */
  private KernelExpression settled(KernelExpression condition) {
    if (frame.stack().isEmpty()) {
      return condition;
    }
    return new Compare(Comparison.NOT_EQUAL, saved(condition), Constant.of(0), false);
  }

  /** Passes the stack at the block's end on in variables, one for each depth. */
  private void saveStack() {
    List<StackOperand> stack = frame.stack();
    List<Statement> moves = new ArrayList<>();
    for (int i = 0; i < stack.size(); i++) {
      if (stack.get(i) instanceof StackOperand.Value(KernelExpression value)) {
        Variable target = method.stackVariable(i, value.type());
        if (!value.equals(new Read(target))) {
          // All values are read before one of the variables changes.
          moves.add(new Assign(target, saved(value)));
        }
        stack.set(i, new StackOperand.Value(new Read(target)));
      }
    }
    statements.addAll(moves);
  }
}
