package dev.tidepool.testkit.kernels;

import java.util.ArrayList;
import java.util.List;

/** The names that an expression or statement can use. */
final class Scope {
  /** A variable; loop counters are not assignable, for example. */
  record Variable(String name, Kind kind, boolean isAssignable) {}

  /** A private array of the item. */
  record OwnArray(String name, Kind kind, int length) {}

  /**
   * A method that can be called.
   *
   * @param result {@code void} or the keyword of a type
   * @param parameters the types of the scalar parameters
   * @param array the element type of an array as the last parameter; empty without one
   * @param steps about how many statements the method executes
   */
  record Helper(String name, String result, List<Kind> parameters, List<Kind> array, int steps) {}

  /** The least length of array arguments that no item writes. */
  static final int LEAST_LENGTH = 32;

  /** The greatest length of these arrays. */
  static final int MOST_LENGTH = 64;

  private final List<Variable> variables = new ArrayList<>();
  private final List<String> counters = new ArrayList<>();
  private final List<OwnArray> arrays = new ArrayList<>();
  private final boolean hasArguments;
  private final int stride;
  private final List<StoredArray> stored = new ArrayList<>();
  private boolean hasItem;

  /**
   * Creates a scope.
   *
   * @param hasArguments whether the kernel's arrays are visible
   * @param stride the number of elements of each written array that belong to an item, a power of
   *     two
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

  /** Makes the numbers of the work item visible. */
  void addItem() {
    hasItem = true;
  }

  boolean hasItem() {
    return hasItem;
  }

  /** Makes an array visible to which items store at {@code i}, and which they do not load. */
  void addStored(StoredArray array) {
    stored.add(array);
  }

  List<StoredArray> stored() {
    return stored;
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

  /** Returns the counters of the enclosing loops, which are ints. */
  List<String> counters() {
    return counters;
  }

  List<OwnArray> arrays() {
    return arrays;
  }

  List<OwnArray> arrays(Kind kind) {
    return arrays.stream().filter(array -> array.kind() == kind).toList();
  }

  /** Returns a position to which {@link #backTo} returns at the end of a block. */
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
