package dev.tidepool.testkit.kernels;

import java.util.ArrayList;
import java.util.List;

/** The names that an expression or statement can use. */
final class Scope {
  /** A variable, which only some statements may assign: not the counters of loops. */
  record Variable(String name, Kind kind, boolean isAssignable) {}

  /** An array of the item itself. */
  record OwnArray(String name, Kind kind, int length) {}

  /**
   * A method that can be called.
   *
   * @param result {@code void} or the keyword of a type
   * @param parameters the types of its scalars
   * @param array the type of the array that is its last parameter; empty without one
   * @param steps about how many statements it executes
   */
  record Helper(String name, String result, List<Kind> parameters, List<Kind> array, int steps) {}

  /** The elements of arguments that no item writes, at least. */
  static final int LEAST_LENGTH = 32;

  private final List<Variable> variables = new ArrayList<>();
  private final List<String> counters = new ArrayList<>();
  private final List<OwnArray> arrays = new ArrayList<>();
  private final boolean hasArguments;
  private final int stride;

  /**
   * Creates a scope.
   *
   * @param hasArguments whether the kernel's arrays are visible
   * @param stride how many elements of each written array are the item's own, a power of two
   */
  Scope(boolean hasArguments, int stride) {
    this.hasArguments = hasArguments;
    this.stride = stride;
  }

  boolean hasArguments() {
    return hasArguments;
  }

  int stride() {
    return stride;
  }

  void add(Variable variable) {
    variables.add(variable);
  }

  void addCounter(String name) {
    counters.add(name);
  }

  void add(OwnArray array) {
    arrays.add(array);
  }

  List<Variable> variables() {
    return variables;
  }

  List<Variable> readable(Kind kind) {
    return variables.stream().filter(variable -> variable.kind() == kind).toList();
  }

  List<Variable> assignable() {
    return variables.stream().filter(Variable::isAssignable).toList();
  }

  List<Variable> assignable(Kind kind) {
    return readable(kind).stream().filter(Variable::isAssignable).toList();
  }

  /** Returns the counters of the loops around, which are ints. */
  List<String> counters() {
    return counters;
  }

  List<OwnArray> arrays() {
    return arrays;
  }

  List<OwnArray> arrays(Kind kind) {
    return arrays.stream().filter(array -> array.kind() == kind).toList();
  }

  /** Returns how much there is, to go back to at the end of a block. */
  int[] mark() {
    return new int[] {variables.size(), counters.size(), arrays.size()};
  }

  void backTo(int[] mark) {
    cut(variables, mark[0]);
    cut(counters, mark[1]);
    cut(arrays, mark[2]);
  }

  private static void cut(List<?> list, int size) {
    list.subList(size, list.size()).clear();
  }
}
