package dev.tidepool.methods.jvm;

/** The layout of a box of items, as an array of longs for generated code. */
final class Box {
  /** The first item in each of three dimensions; for a group, its first item. */
  static final int FROM = 0;

  /** The index after the last item in each dimension. */
  static final int TO = 3;

  /** The number of the group in each dimension; defined if a box is a group. */
  static final int GROUP = 6;

  /** The number of items of the whole range in each dimension. */
  static final int GLOBAL_SIZE = 9;

  /** The number of items of a group in each dimension. */
  static final int GROUP_SIZE = 12;

  static final int LENGTH = 15;

  private Box() {}
}
