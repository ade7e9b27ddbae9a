package dev.tidepool.methods.jvm;

import dev.tidepool.methods.jvm.MemoryPlan.Scalar.Use;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The steps of a kernel's code, and the memory that it needs. */
final class KernelPlan {
  private final List<Step> steps;
  private final boolean addresses;
  private final MemoryPlan memory;
  private final Set<Variable> kept;
  private final Set<Variable> ofGroup = new LinkedHashSet<>();
  private final Set<Integer> boxNumbers = new LinkedHashSet<>();
  private final Set<KernelArray> heapArrays = new LinkedHashSet<>();
  private final Set<KernelArray.Argument> atomics = new LinkedHashSet<>();
  private boolean parks;
  private boolean usesGroups;

  /**
   * Plans the code of a kernel.
   *
   * @param addresses whether arguments are accessed by address if an index is an int
   */
  KernelPlan(KernelTree tree, List<Step> steps, boolean addresses) {
    this.steps = steps;
    this.addresses = addresses;
    memory = new MemoryPlan(tree);
    kept = KeptVariables.of(steps);
    KeptVariables.ofGroup(steps, ofGroup);
    usesGroups = isFissioned();
    use(steps);
    if (isFissioned()) {
      BarrierFission.forEachItems(
          steps, items -> parks |= Walk.any(items.body(), part -> leavesItems(part, items.body())));
      kept.forEach(variable -> memory.need(new MemoryPlan.Kept(variable.id(), variable.type())));
    }
    if (parks) {
      memory.need(MemoryPlan.Kept.RETURNED);
    }
  }

  private void use(List<Step> list) {
    for (Step step : list) {
      switch (step) {
        case Step.Items(List<Statement> body) -> Walk.statements(body, this::use);
        case Step.Uniform(Statement.Assign assign) -> use(assign);
        case Step.Branch branch -> {
          Walk.expressions(branch.condition(), this::use);
          use(branch.then());
          use(branch.otherwise());
        }
        case Step.Repeat repeat -> use(repeat.body());
        case Step.Scope scope -> use(scope.body());
        case Step.Jump _ -> {}
      }
    }
  }

  private void use(Statement statement) {
    KernelArray array = Walk.array(statement);
    if (array != null) {
      use(array, statement);
    }
    Walk.expressions(statement).forEach(expression -> Walk.expressions(expression, this::use));
  }

  private static boolean leavesItems(Statement statement, List<Statement> body) {
    return switch (statement) {
      case Statement.Return _ -> true;
      case Statement.Break(Statement.Label label) -> !isInside(label, body);
      case Statement.Continue(Statement.Label label) -> !isInside(label, body);
      default -> false;
    };
  }

  private static boolean isInside(Statement.Label label, List<Statement> body) {
    return Walk.any(
        body,
        part ->
            switch (part) {
              case Statement.Loop loop -> loop.label().equals(label);
              case Statement.Block block -> block.label().equals(label);
              default -> false;
            });
  }

  private void use(KernelArray array, Statement statement) {
    switch (array) {
      case KernelArray.Argument argument -> {
        if (statement instanceof Statement.Atomic) {
          memory.need(new MemoryPlan.Segment(argument.index()));
          atomics.add(argument);
        } else {
          ValueType index = Walk.expressions(statement).getFirst().type();
          if (AccessWriter.usesAddress(index, addresses)) {
            memory.need(new MemoryPlan.Scalar(argument.index(), Use.ADDRESS));
          } else {
            memory.need(new MemoryPlan.Segment(argument.index()));
          }
        }
        memory.need(new MemoryPlan.Scalar(argument.index(), Use.LENGTH));
      }
      case KernelArray.Shared shared -> {
        usesGroups = true;
        heapArrays.add(shared);
        memory.need(new MemoryPlan.Shared(shared));
      }
      case KernelArray.Private own -> {
        heapArrays.add(own);
        if (isFissioned()) {
          memory.need(new MemoryPlan.Rows(own));
        }
      }
    }
  }

  private void use(KernelExpression expression) {
    switch (expression) {
      case KernelExpression.ScalarArgument argument ->
          memory.need(new MemoryPlan.Scalar(argument.index(), Use.VALUE));
      case KernelExpression.Length(KernelArray.Argument array) ->
          memory.need(new MemoryPlan.Scalar(array.index(), Use.LENGTH));
      case ItemNumber(ItemNumber.Kind kind, int dimension) -> {
        switch (kind) {
          case GLOBAL_ID -> {}
          case LOCAL_ID -> usesGroups = true;
          case GROUP_ID -> {
            usesGroups = true;
            boxNumbers.add(Box.GROUP + dimension);
          }
          case GLOBAL_SIZE -> boxNumbers.add(Box.GLOBAL_SIZE + dimension);
          case GROUP_SIZE -> boxNumbers.add(Box.GROUP_SIZE + dimension);
        }
      }
      default -> {}
    }
  }

  List<Step> steps() {
    return steps;
  }

  boolean addresses() {
    return addresses;
  }

  MemoryPlan memory() {
    return memory;
  }

  /** Returns the variables that are kept for each item from one step to another. */
  Set<Variable> kept() {
    return kept;
  }

  /** Returns the variables of which the group has one. */
  Set<Variable> ofGroup() {
    return ofGroup;
  }

  /** Returns the kept variables that an expression reads. */
  Set<Variable> keptIn(KernelExpression expression) {
    Set<Variable> read = new LinkedHashSet<>();
    Walk.readVariables(expression, read::add);
    read.retainAll(kept);
    return read;
  }

  /** Returns the indices of a box that the kernel reads. */
  Set<Integer> boxNumbers() {
    return boxNumbers;
  }

  /** Returns the private and shared arrays. */
  Set<KernelArray> heapArrays() {
    return heapArrays;
  }

  /** Returns the arguments that atomic operations change. */
  Set<KernelArray.Argument> atomics() {
    return atomics;
  }

  /** Returns whether steps may have to skip items. */
  boolean parks() {
    return parks;
  }

  /** Returns whether boxes have to be groups. */
  boolean usesGroups() {
    return usesGroups;
  }

  /** Returns whether the items of a group execute more than one step. */
  boolean isFissioned() {
    return steps.size() != 1 || !(steps.getFirst() instanceof Step.Items);
  }
}
