package dev.tidepool.methods.c;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.expression.c.KernelSignature;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.methods.analysis.BarrierControl;
import dev.tidepool.methods.analysis.ItemNumbers;
import dev.tidepool.methods.analysis.LoopChecks;
import dev.tidepool.methods.analysis.RangeChecks;
import dev.tidepool.methods.analysis.Uniformity;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Site;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Assign;
import dev.tidepool.methods.tree.Statement.Atomic;
import dev.tidepool.methods.tree.Statement.Barrier;
import dev.tidepool.methods.tree.Statement.Block;
import dev.tidepool.methods.tree.Statement.Break;
import dev.tidepool.methods.tree.Statement.Clear;
import dev.tidepool.methods.tree.Statement.Continue;
import dev.tidepool.methods.tree.Statement.Divide;
import dev.tidepool.methods.tree.Statement.If;
import dev.tidepool.methods.tree.Statement.Label;
import dev.tidepool.methods.tree.Statement.Load;
import dev.tidepool.methods.tree.Statement.Loop;
import dev.tidepool.methods.tree.Statement.Return;
import dev.tidepool.methods.tree.Statement.Store;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Writes a kernel in a C-like language. All names begin with {@code tp_}, so that none is a keyword
 * or a function of the language.
 *
 * <p>Loops and blocks become {@code for (;;)} and {@code do ... while (0)}. The language has no
 * labels: a jump out of several of them sets a flag that each of them tests.
 */
public final class MethodGenerator {
  /** The name of every kernel that is generated. */
  public static final String ENTRY = "tp_kernel";

  /** The deepest nesting of braces: the compilers of drivers refuse more than 256. */
  private static final int DEEPEST = 240;

  private final KernelTree tree;
  private final KernelLanguage language;
  private final boolean checked;
  private final ExpressionWriter values;
  private final boolean usesGroups;
  private final Set<Integer> stored = new HashSet<>();
  private final StringBuilder body = new StringBuilder();
  private final Jumps jumps = new Jumps();
  private final Set<KernelArray> ownArrays = new LinkedHashSet<>();
  private final @Nullable BarrierControl barriers;
  // Whether the items of a group may return together, or fail in a statement that decides about
  // barriers.
  private final boolean stops;
  // The conditions by which stopped items leave loops.
  private final Set<If> exits = Collections.newSetFromMap(new IdentityHashMap<>());
  private int depth = 1;
  private boolean faults;
  private boolean isAtBarrier;
  private int nextLabel;
  // The target of an item that returns or fails, in a kernel with barriers; null in statements that
  // all items execute, including those that have ended.
  private @Nullable Label exit;

  private MethodGenerator(
      KernelTree tree, KernelLanguage language, DeviceLimits device, boolean checked) {
    this.tree = tree;
    this.language = language;
    this.checked = checked;
    this.values = new ExpressionWriter(tree, language, device);
    this.usesGroups = ItemNumbers.of(tree).usesGroups();
    this.barriers = hasBarriers(tree) ? BarrierControl.of(tree) : null;
    this.stops =
        barriers != null && (barriers.mayReturn(tree) || (checked && barriers.mayFail(tree)));
    this.nextLabel = tree.labels();
    Walk.statements(tree.body(), this::recordStore);
  }

  private static boolean hasBarriers(KernelTree tree) {
    return Walk.any(tree.body(), Barrier.class::isInstance);
  }

  private void recordStore(Statement statement) {
    KernelArray changed =
        switch (statement) {
          case Store store -> store.array();
          case Atomic atomic -> atomic.array();
          default -> null;
        };
    if (changed instanceof KernelArray.Argument argument) {
      stored.add(argument.index());
    }
  }

  /**
   * Returns the text of a kernel.
   *
   * @param checked whether an index outside of its array and a divisor of 0 are faults; otherwise a
   *     division by 0 divides by 1, because it ends the process on some devices
   * @throws KernelCompilationException if the kernel needs a feature that the device lacks
   */
  public static MethodText generate(
      KernelTree tree, KernelLanguage language, DeviceLimits device, boolean checked) {
    device.requireMemoryFor(tree);
    var _ = Uniformity.checked(tree);
    KernelTree hoisted = checked ? LoopChecks.hoisted(RangeChecks.hoisted(tree)) : tree;
    return new MethodGenerator(hoisted, language, device, checked).text();
  }

  private MethodText text() {
    if (barriers == null) {
      write(tree.body());
    } else {
      writeWithBarriers(tree.body(), barriers);
    }
    StringBuilder declarations = new StringBuilder();
    declareVariables(declarations);
    for (KernelArray array : ownArrays) {
      String type = type(array.kind());
      String name = name(array);
      int length = Math.max(1, length(array));
      declarations.append("  ");
      declarations.append(
          array instanceof KernelArray.Shared
              ? language.sharedArray(type, name, length)
              : type + " " + name + "[" + length + "];");
      declarations.append("\n");
    }
    if (barriers != null) {
      declarations.append("  int tp_active = 1;\n");
      declarations.append(stops ? "  int tp_stop = 0;\n" : "");
    }
    if (barriers == null && !jumps.further().isEmpty()) {
      declarations.append("  int tp_leave = 0;\n");
    } else {
      for (int jump : jumps.further()) {
        declarations.append("  int tp_leave").append(jump).append(" = 0;\n");
      }
    }
    KernelSignature signature = signature();
    // Computed before the header, which contains the functions that these call.
    String functions = values.functions() + (faults ? faultFunction() : "");
    String source =
        language.dialect().header(values.device().fp64())
            + language.header(values.device(), values.usesLongAtomics())
            + functions
            + "\n"
            + signature.declarations()
            + language.dialect().kernelQualifier()
            + " "
            + ENTRY
            + "(\n    "
            + signature.parameters()
            + ") {\n"
            + signature.prologue()
            + starts()
            + declarations
            + guard()
            + body
            + "}\n";
    return new MethodText(source, ENTRY, usesGroups, faults);
  }

  // Parameters and declarations

  private KernelSignature signature() {
    KernelSignature signature = language.dialect().signature();
    String offset = unsignedLong();
    for (int i = 0; i < tree.parameters().size(); i++) {
      KernelTree.Parameter parameter = tree.parameters().get(i);
      String type = type(parameter.kind());
      if (parameter.isArray()) {
        signature.array(language.dialect().pointer(type, !stored.contains(i)), "tp_base" + i);
        signature.value(offset, "tp_offset" + i);
        signature.value("int", "tp_length" + i);
      } else {
        signature.value(type, "tp_scalar" + i);
      }
    }
    for (int dimension = 0; dimension < 3; dimension++) {
      signature.value(offset, "tp_items" + dimension);
    }
    if (faults) {
      signature.array(language.dialect().pointer("int", false), "tp_base_fault");
      signature.value(offset, "tp_offset_fault");
    }
    return signature;
  }

  private String starts() {
    StringBuilder starts = new StringBuilder();
    for (int i = 0; i < tree.parameters().size(); i++) {
      KernelTree.Parameter parameter = tree.parameters().get(i);
      if (parameter.isArray()) {
        starts
            .append("  ")
            .append(language.dialect().pointer(type(parameter.kind()), !stored.contains(i)))
            .append(" tp_array" + i + " = tp_base" + i + " + tp_offset" + i + ";\n");
      }
    }
    if (faults) {
      starts
          .append("  ")
          .append(language.dialect().pointer("int", false))
          .append(" tp_fault = tp_base_fault + tp_offset_fault;\n");
    }
    return starts.toString();
  }

  private void declareVariables(StringBuilder declarations) {
    Set<Variable> variables = new LinkedHashSet<>();
    Walk.statements(
        tree.body(),
        statement -> {
          Variable target = Walk.target(statement);
          if (target != null) {
            variables.add(target);
          }
        });
    for (Variable variable : variables) {
      declarations
          .append("  ")
          .append(values.type(variable.type()))
          .append(" ")
          .append(ExpressionWriter.name(variable))
          .append(" = 0;\n");
    }
  }

  /** Returns the test by which items beyond the range return. */
  private String guard() {
    if (usesGroups) {
      return "";
    }
    StringBuilder outside = new StringBuilder();
    for (int dimension = 0; dimension < 3; dimension++) {
      outside
          .append(dimension == 0 ? "" : " || ")
          .append("(")
          .append(unsignedLong())
          .append(")")
          .append(language.itemNumber(KernelExpression.ItemNumber.Kind.GLOBAL_ID, dimension))
          .append(" >= tp_items")
          .append(dimension);
    }
    return "  if (" + outside + ") {\n    return;\n  }\n";
  }

  private String faultFunction() {
    String pointer = language.atomicPointer(language.dialect().pointer("int", false));
    return language.dialect().functionQualifier()
        + " void tp_failed("
        + pointer
        + " tp_status, int tp_site, int tp_index) {\n  if ("
        + language.compareAndSet(false, "tp_status", "0", "tp_site")
        + " == 0) {\n    tp_status[1] = tp_index;\n  }\n}\n";
  }

  private String unsignedLong() {
    return language.dialect().typeName(ScalarType.UINT64);
  }

  private String type(ElementKind kind) {
    return values.type(kind);
  }

  private static int length(KernelArray array) {
    return switch (array) {
      case KernelArray.Private own -> own.length();
      case KernelArray.Shared shared -> shared.length();
      case KernelArray.Argument _ -> throw new AssertionError(array);
    };
  }

  private static String name(KernelArray array) {
    return switch (array) {
      case KernelArray.Argument argument -> "tp_array" + argument.index();
      case KernelArray.Private own -> "tp_own" + own.id();
      case KernelArray.Shared shared -> "tp_shared" + shared.id();
    };
  }

  // Statements

  private void line(String text) {
    body.append("  ".repeat(depth)).append(text).append("\n");
    isAtBarrier = false;
  }

  /** Writes a barrier, unless it would directly follow another one. */
  private void barrier() {
    if (!isAtBarrier) {
      line(language.barrier());
      isAtBarrier = true;
    }
  }

  private void write(List<Statement> statements) {
    statements.forEach(this::write);
  }

  private void write(Statement statement) {
    if (depth > DEEPEST) {
      throw tooDeep(statement);
    }
    switch (statement) {
      case Assign(Variable target, KernelExpression value) ->
          line(ExpressionWriter.name(target) + " = " + values.of(value) + ";");
      case Load load -> load(load);
      case Store store -> store(store);
      case Divide divide -> divide(divide);
      case Atomic atomic -> atomic(atomic);
      case Clear(KernelArray.Private array) -> {
        ownArrays.add(array);
        line(
            "for (int tp_i = 0; tp_i < "
                + array.length()
                + "; tp_i++) { "
                + name(array)
                + "[tp_i] = 0; }");
      }
      case Barrier _ -> barrier();
      case If branch -> branch(branch);
      case Loop(Label label, List<Statement> repeated) -> {
        jumps.enter(label, true);
        nested("for (;;) {", repeated, "}");
        leave();
      }
      case Block(Label label, List<Statement> once) -> {
        jumps.enter(label, false);
        nested("do {", once, "} while (0);");
        leave();
      }
      case Break(Label label) -> jump(label, false);
      case Continue(Label label) -> jump(label, true);
      case Return _ -> end();
    }
  }

  private KernelCompilationException tooDeep(Statement statement) {
    List<StackTraceElement> places = new ArrayList<>();
    Walk.statements(
        List.of(statement),
        part -> {
          Site site = Walk.site(part);
          if (site != null) {
            places.add(site.frame());
          }
        });
    return values
        .device()
        .refuse(
            tree,
            places.isEmpty() ? null : places.getFirst(),
            "what is inside of more than " + DEEPEST + " conditions and loops cannot run on ",
            "",
            "join conditions by & in place of &&, or use another device, such as the CPU");
  }

  // Kernels with barriers

  /**
   * Writes statements so that no item leaves the kernel before a barrier. An item that returns or
   * fails is no longer active, and executes only the statements that decide about barriers.
   *
   * <p>A deciding statement that fails or returns ends all items of the group. They stop: from then
   * on, values that are loaded or divided are 0, loops end, and the remaining barriers are met. A
   * jump past the barriers would do, too, but PoCL compiles it to wrong code.
   */
  private void writeWithBarriers(List<Statement> statements, BarrierControl control) {
    List<Statement> others = new ArrayList<>();
    for (Statement statement : statements) {
      if (!control.decides(statement)) {
        others.add(statement);
        continue;
      }
      writeIfActive(others);
      others.clear();
      switch (statement) {
        case If branch -> branchWithBarriers(branch, control);
        case Loop(Label label, List<Statement> repeated) -> {
          jumps.enter(label, true);
          line("for (;;) {");
          exitWhenStopped((Loop) statement, control);
          nestedWithBarriers(repeated, control);
          endRound(repeated, control);
          line("}");
          leave();
        }
        case Block(Label label, List<Statement> once) -> {
          jumps.enter(label, false);
          line("do {");
          nestedWithBarriers(once, control);
          line("} while (0);");
          leave();
        }
        default -> write(statement);
      }
    }
    writeIfActive(others);
  }

  /**
   * Ends a loop round that contains barriers with a further barrier if the language needs it,
   * unless some items skip the rest of the round.
   */
  private void endRound(List<Statement> round, BarrierControl control) {
    if (language.isDividedAtBarriers()
        && Walk.any(round, Barrier.class::isInstance)
        && !control.isLeftBySome(round)) {
      depth++;
      barrier();
      depth--;
    }
  }

  private void exitWhenStopped(Loop loop, BarrierControl control) {
    If exit = stops ? control.exit(loop) : null;
    if (exit != null) {
      exits.add(exit);
    } else if (stops) {
      line("  if (tp_stop) {");
      line("    break;");
      line("  }");
    }
  }

  private void branchWithBarriers(If branch, BarrierControl control) {
    String condition = values.condition(branch.condition());
    if (exits.contains(branch)) {
      condition = "tp_stop || (" + condition + ")";
    }
    // If the language divides kernels at barriers: two conditions with a barrier between them.
    boolean ends = language.isDividedAtBarriers() && Walk.any(branch, Barrier.class::isInstance);
    boolean apart =
        ends
            && Walk.any(branch.then(), Barrier.class::isInstance)
            && Walk.any(branch.otherwise(), Barrier.class::isInstance);
    if (apart) {
      String way = "tp_way" + nextLabel++;
      line("int " + way + " = " + condition + ";");
      condition = way;
    }
    // No jump may skip the barriers that are added here.
    boolean isLeft = ends && BarrierControl.isLeft(branch);
    if (isLeft) {
      jumps.enter(new Label(nextLabel++), false);
    }
    line("if (" + condition + ") {");
    partWithBarriers(branch.then(), control, isLeft);
    if (!branch.otherwise().isEmpty()) {
      if (apart) {
        line("}");
        barrier();
        line("if (!" + condition + ") {");
      } else {
        line("} else {");
      }
      partWithBarriers(branch.otherwise(), control, isLeft);
    }
    line("}");
    if (isLeft) {
      leave();
    }
  }

  /**
   * Writes a branch of a condition that all items of a group take together.
   *
   * @param isLeft whether jumps out of the condition first go to the end of the branch, and
   *     continue after the condition
   */
  private void partWithBarriers(List<Statement> part, BarrierControl control, boolean isLeft) {
    if (isLeft) {
      depth++;
      line("do {");
    }
    nestedWithBarriers(part, control);
    if (isLeft) {
      line("} while (0);");
      depth--;
    }
    if (language.isDividedAtBarriers() && Walk.any(part, Barrier.class::isInstance)) {
      depth++;
      barrier();
      depth--;
    }
  }

  private void nestedWithBarriers(List<Statement> statements, BarrierControl control) {
    depth++;
    writeWithBarriers(statements, control);
    depth--;
  }

  /** Writes statements that an item skips if it has returned or failed. */
  private void writeIfActive(List<Statement> statements) {
    if (statements.isEmpty()) {
      return;
    }
    line("if (tp_active) {");
    depth++;
    Label label = new Label(nextLabel++);
    jumps.enter(label, false);
    line("do {");
    exit = label;
    depth++;
    write(statements);
    depth--;
    line("} while (0);");
    leave();
    exit = null;
    depth--;
    line("}");
  }

  /** Ends the item. */
  private void end() {
    Label target = exit;
    if (target != null) {
      line("tp_active = 0;");
      jump(target, false);
    } else if (barriers != null) {
      line("tp_active = 0;");
      line("tp_stop = 1;");
    } else {
      line("return;");
    }
  }

  /** Returns whether items that have returned or failed execute the current statement, too. */
  private boolean isTogether() {
    return barriers != null && exit == null;
  }

  private void nested(String open, List<Statement> statements, String close) {
    line(open);
    part(statements);
    line(close);
  }

  private void branch(If first) {
    If branch = asChain(first);
    line("if (" + values.condition(branch.condition()) + ") {");
    part(branch.then());
    List<Statement> otherwise = branch.otherwise();
    while (isIf(otherwise)) {
      If next = asChain((If) otherwise.getFirst());
      line("} else if (" + values.condition(next.condition()) + ") {");
      part(next.then());
      otherwise = next.otherwise();
    }
    if (!otherwise.isEmpty()) {
      line("} else {");
      part(otherwise);
    }
    line("}");
  }

  private void part(List<Statement> statements) {
    depth++;
    write(statements);
    depth--;
  }

  /** Returns a condition whose second part is the next condition, if either part is a condition. */
  private static If asChain(If branch) {
    return isIf(branch.then()) && !branch.otherwise().isEmpty() && !isIf(branch.otherwise())
        ? new If(
            not(branch.condition()), /* then= */ branch.otherwise(), /* otherwise= */ branch.then())
        : branch;
  }

  private static boolean isIf(List<Statement> list) {
    return list.size() == 1 && list.getFirst() instanceof If;
  }

  private static KernelExpression not(KernelExpression condition) {
    return condition instanceof KernelExpression.Compare compare
        ? compare.not()
        : new KernelExpression.Compare(
            KernelExpression.Comparison.EQUAL, condition, KernelExpression.Constant.of(0), false);
  }

  private void jump(Label label, boolean repeats) {
    Jumps.Way way = jumps.jump(label, repeats);
    if (way.jump() > 0) {
      line(barriers == null ? "tp_leave = " + way.jump() + ";" : "tp_leave" + way.jump() + " = 1;");
    }
    line(way.repeats() ? "continue;" : "break;");
  }

  /**
   * Writes, after a loop or block, the tests that continue jumps out of several of them. One
   * variable holds the number of the jump: compilers take minutes for the tests of many flags,
   * which a switch that often falls through would have. In kernels with barriers each jump has a
   * flag: that form is tested on PoCL.
   */
  private void leave() {
    boolean passes = false;
    for (Jumps.Onward onward : jumps.leave()) {
      if (barriers != null) {
        leave("tp_leave" + onward.jump(), "tp_leave" + onward.jump(), onward);
      } else if (onward.arrives()) {
        leave("tp_leave == " + onward.jump(), "tp_leave", onward);
      } else {
        passes = true;
      }
    }
    if (passes) {
      line("if (tp_leave) {");
      line("  break;");
      line("}");
    }
  }

  private void leave(String condition, String variable, Jumps.Onward onward) {
    line("if (" + condition + ") {");
    depth++;
    if (onward.arrives()) {
      line(variable + " = 0;");
    }
    line(onward.repeats() ? "continue;" : "break;");
    depth--;
    line("}");
  }

  private void fail(Site site, String condition, String index) {
    faults = true;
    String report = "tp_failed(tp_fault, " + (site.id() + 1) + ", " + index + ");";
    line("if (" + condition + ") {");
    depth++;
    if (isTogether()) {
      line("if (tp_active) {");
      line("  " + report);
      line("}");
    } else {
      line(report);
    }
    end();
    depth--;
    line("}");
  }

  /** Returns a value that items that have stopped do not compute. */
  private String unlessStopped(String value) {
    return isTogether() && stops ? "tp_stop ? 0 : " + value : value;
  }

  /** Returns the element at an index; an index outside of the array is a fault. */
  private String element(KernelArray array, KernelExpression index, @Nullable Site site) {
    if (!(array instanceof KernelArray.Argument)) {
      ownArrays.add(array);
    }
    String at = values.of(index);
    if (site != null && checked) {
      String length =
          array instanceof KernelArray.Argument argument
              ? "tp_length" + argument.index()
              : Integer.toString(length(array));
      String unsigned = language.dialect().typeName(ScalarType.UINT32);
      fail(site, "(" + unsigned + ")" + at + " >= (" + unsigned + ")" + length, at);
    }
    return name(array) + "[" + at + "]";
  }

  private void load(Load load) {
    String element = element(load.array(), load.index(), load.site());
    String value = load.array().kind() == ElementKind.BOOLEAN ? "(" + element + " != 0)" : element;
    line(ExpressionWriter.name(load.target()) + " = " + unlessStopped(value) + ";");
  }

  private void store(Store store) {
    String value = values.of(store.value());
    ElementKind kind = store.array().kind();
    String narrowed =
        switch (kind) {
          case BOOLEAN -> "(" + type(kind) + ")(" + value + " & 1)";
          case BYTE, SHORT -> "(" + type(kind) + ")" + value;
          default -> value;
        };
    line(element(store.array(), store.index(), store.site()) + " = " + narrowed + ";");
  }

  private void divide(Divide divide) {
    String dividend = values.of(divide.dividend());
    String divisor = values.of(divide.divisor());
    String target = ExpressionWriter.name(divide.target());
    String operator = divide.isRemainder() ? " % " : " / ";
    if (divide.divisor() instanceof KernelExpression.Constant(_, long bits)
        && bits != -1
        && bits != 0) {
      line(target + " = " + dividend + operator + divisor + ";");
      return;
    }
    Site site = divide.site();
    String safe = divisor;
    if (site != null && checked && divide.mayFail()) {
      fail(site, divisor + " == 0", "0");
    } else {
      safe = "(" + divisor + " == 0 ? 1 : " + divisor + ")";
    }
    // The quotient of the least integer and -1 is undefined in C.
    String unsigned = values.unsigned(divide.target().type());
    String type = values.type(divide.target().type());
    String wrapped =
        divide.isRemainder() ? "0" : "(" + type + ")(0 - (" + unsigned + ")" + dividend + ")";
    String value = divisor + " == -1 ? " + wrapped + " : " + dividend + operator + safe;
    line(target + " = " + unlessStopped(value) + ";");
  }

  private void atomic(Atomic atomic) {
    String value = values.of(atomic.value());
    KernelExpression expected = atomic.expected();
    String address = "&" + element(atomic.array(), atomic.index(), atomic.site());
    String call =
        values.atomic(
            atomic.operation(),
            atomic.array().kind(),
            atomic.array() instanceof KernelArray.Shared,
            address,
            expected == null ? "" : values.of(expected),
            value);
    Variable target = atomic.target();
    line((target == null ? "" : ExpressionWriter.name(target) + " = ") + call + ";");
  }
}
