package dev.tidepool.methods.tree;

import java.util.ArrayList;
import java.util.List;

/** Makes trees of kernels for tests. Statements with a site have a line each, from 100 on. */
public final class TreeBuilder {
  private static final String CLASS = "test.Kernels";

  private final List<KernelTree.Parameter> parameters = new ArrayList<>();
  private final List<Site> sites = new ArrayList<>();
  private int variables;
  private int labels;
  private int arrays;

  /** The index of the item in dimension 0, as an int. */
  public static KernelExpression index() {
    return toInt(number(KernelExpression.ItemNumber.Kind.GLOBAL_ID, 0));
  }

  /** A number of the item. */
  public static KernelExpression number(KernelExpression.ItemNumber.Kind kind, int dimension) {
    return new KernelExpression.ItemNumber(kind, dimension);
  }

  /** The lowest bits of a long. */
  public static KernelExpression toInt(KernelExpression value) {
    return new KernelExpression.Convert(KernelExpression.Conversion.L2I, value);
  }

  /** An int constant. */
  public static KernelExpression constant(int value) {
    return KernelExpression.Constant.of(value);
  }

  /** What a variable holds. */
  public static KernelExpression read(Variable variable) {
    return new KernelExpression.Read(variable);
  }

  /** An operation. */
  public static KernelExpression binary(
      KernelExpression.Operator operator, KernelExpression left, KernelExpression right) {
    return new KernelExpression.Binary(operator, left, right);
  }

  /** A sum. */
  public static KernelExpression add(KernelExpression left, KernelExpression right) {
    return binary(KernelExpression.Operator.ADD, left, right);
  }

  /** A product. */
  public static KernelExpression multiply(KernelExpression left, KernelExpression right) {
    return binary(KernelExpression.Operator.MULTIPLY, left, right);
  }

  /** A comparison. */
  public static KernelExpression.Compare compare(
      KernelExpression.Comparison comparison, KernelExpression left, KernelExpression right) {
    return new KernelExpression.Compare(comparison, left, right, false);
  }

  /** Whether one is less. */
  public static KernelExpression.Compare less(KernelExpression left, KernelExpression right) {
    return compare(KernelExpression.Comparison.LESS, left, right);
  }

  /** Sets a variable. */
  public static Statement assign(Variable target, KernelExpression value) {
    return new Statement.Assign(target, value);
  }

  /** A condition without another way. */
  public static Statement when(KernelExpression condition, Statement... then) {
    return new Statement.If(condition, List.of(then), List.of());
  }

  /** A new variable. */
  public Variable variable(ValueType type) {
    return new Variable(variables++, type);
  }

  /** A new label. */
  public Statement.Label label() {
    return new Statement.Label(labels++);
  }

  /** A further parameter, an array. */
  public KernelArray.Argument array(String name, ElementKind kind) {
    parameters.add(new KernelTree.Parameter(name, kind, true));
    return new KernelArray.Argument(parameters.size() - 1, kind, name);
  }

  /** A further parameter, a scalar. */
  public KernelExpression scalar(String name, ElementKind kind) {
    parameters.add(new KernelTree.Parameter(name, kind, false));
    return new KernelExpression.ScalarArgument(parameters.size() - 1, kind.loaded());
  }

  /** An array of the item. */
  public KernelArray.Private own(ElementKind kind, int length) {
    return new KernelArray.Private(arrays++, kind, length);
  }

  /** An array of the group. */
  public KernelArray.Shared shared(ElementKind kind, int length) {
    return new KernelArray.Shared(arrays++, kind, length);
  }

  /** Loads an element. */
  public Statement load(Variable target, KernelArray array, KernelExpression index) {
    return new Statement.Load(target, array, index, site(array));
  }

  /** Stores an element. */
  public Statement store(KernelArray array, KernelExpression index, KernelExpression value) {
    return new Statement.Store(array, index, value, site(array));
  }

  /** A quotient of integers. */
  public Statement divide(Variable target, KernelExpression dividend, KernelExpression divisor) {
    return new Statement.Divide(target, false, dividend, divisor, division());
  }

  /** A remainder of integers. */
  public Statement remainder(Variable target, KernelExpression dividend, KernelExpression divisor) {
    return new Statement.Divide(target, true, dividend, divisor, division());
  }

  /** An atomic step that needs no expected value and whose result is not used. */
  public Statement atomic(
      Statement.AtomicOperation operation,
      KernelArray array,
      KernelExpression index,
      KernelExpression value) {
    return new Statement.Atomic(null, operation, array, index, null, value, site(array));
  }

  /** Waits for the group. */
  public Statement barrier() {
    return new Statement.Barrier(frame());
  }

  /** {@code for (variable = from; variable < to; variable += step) body}, as readers give it. */
  public List<Statement> loop(
      Variable variable,
      KernelExpression from,
      KernelExpression to,
      int step,
      List<Statement> body) {
    Statement.Label end = label();
    List<Statement> round = new ArrayList<>();
    round.add(
        new Statement.If(
            less(read(variable), to).not(), List.of(new Statement.Break(end)), List.of()));
    round.addAll(body);
    round.add(assign(variable, add(read(variable), constant(step))));
    return List.of(
        assign(variable, from),
        new Statement.Block(end, List.of(new Statement.Loop(label(), round))));
  }

  private Site division() {
    Site site = new Site(sites.size(), Site.Fault.DIVISION, "", -1, -1, List.of(frame()));
    sites.add(site);
    return site;
  }

  private Site site(KernelArray array) {
    int length =
        switch (array) {
          case KernelArray.Argument _ -> -1;
          case KernelArray.Private own -> own.length();
          case KernelArray.Shared shared -> shared.length();
        };
    int parameter = array instanceof KernelArray.Argument argument ? argument.index() : -1;
    Site site =
        new Site(sites.size(), Site.Fault.INDEX, array.name(), length, parameter, List.of(frame()));
    sites.add(site);
    return site;
  }

  private StackTraceElement frame() {
    return new StackTraceElement(CLASS, "kernel", "Kernels.java", 100 + sites.size());
  }

  /** The kernel. */
  public KernelTree build(Statement... body) {
    return build(List.of(body));
  }

  /** The kernel. */
  public KernelTree build(List<Statement> body) {
    return new KernelTree(CLASS, "kernel", parameters, body, sites, variables, labels);
  }
}
