package dev.tidepool.methods.jvm;

/** What a box of items is, as an array of longs for generated code. */
final class Box {
  /** The first item in each of three dimensions; for a group, its first item. */
  static final int FROM = 0;

  /** The item behind the last in each dimension. */
  static final int TO = 3;

  /** The number of the group in each dimension; defined where a box is a group. */
  static final int GROUP = 6;

  /** Items of the whole range. */
  static final int GLOBAL_SIZE = 9;

  /** Items of a group. */
  static final int GROUP_SIZE = 12;

  static final int LENGTH = 15;

  private Box() {}
}
