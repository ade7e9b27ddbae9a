package dev.tidepool;

import java.lang.foreign.MemorySegment;

/**
 * The position of an item of a kernel in its range. Kernels are {@linkplain KernelSource#method
 * methods}, which get their arguments as parameters, or a {@link JavaKernel}, which finds them
 * here. Valid during the call only.
 */
public interface WorkItem {
  /** Returns the item's index in a dimension (0 to 2) of the whole range. */
  long globalId(int dimension);

  /** Returns the item's index in a dimension of its group. */
  long localId(int dimension);

  /** Returns the group's index in a dimension. */
  long groupId(int dimension);

  /** Returns the size of the whole range in a dimension; 1 beyond its dimensions. */
  long globalSize(int dimension);

  /** Returns the size of a group in a dimension; 1 where no group size was asked for. */
  long groupSize(int dimension);

  /**
   * Returns the bytes of the array argument at {@code index} of the declared parameters.
   *
   * @throws IllegalArgumentException if that parameter is a scalar
   */
  MemorySegment array(int index);

  /**
   * Returns the scalar argument at {@code index} of the declared parameters, as a double.
   *
   * @throws IllegalArgumentException if that parameter is an array
   */
  double scalar(int index);

  /**
   * Returns the scalar argument at {@code index} of the declared parameters, as a long.
   *
   * @throws IllegalArgumentException if that parameter is an array
   */
  long integer(int index);

  /** Memory that the items of one group share, of the size that the launch asked for. */
  MemorySegment localMemory();

  /**
   * Returns an item for calling a kernel's method directly, as in its unit test. It is the only one
   * of its group and of a range that ends with it.
   *
   * {@snippet :
   * float[] y = new float[3];
   * Kernels.twice(WorkItem.of(2), new float[] {1, 2, 3}, y);
   * }
   *
   * @param globalId its index in each of one to three dimensions
   */
  static WorkItem of(long... globalId) {
    return PlainItem.of(globalId);
  }

  /**
   * Waits until all items of the group have come to a barrier, and have seen each other's stores to
   * memory of the group. Only for kernels of {@link KernelSource#method methods}, where every item
   * of a group must come to the same barriers.
   *
   * @throws UnsupportedOperationException in a {@link JavaKernel}
   */
  default void barrier() {
    throw PlainItem.methodsOnly("barrier");
  }

  /**
   * Memory that the items of a group share; its contents are undefined. Each call in the source is
   * an array of its own. Only for kernels of {@link KernelSource#method methods}.
   *
   * @param length a constant
   * @throws UnsupportedOperationException in a {@link JavaKernel}
   */
  default byte[] localBytes(int length) {
    throw PlainItem.methodsOnly("localBytes");
  }

  /** Like {@link #localBytes}, of shorts. */
  default short[] localShorts(int length) {
    throw PlainItem.methodsOnly("localShorts");
  }

  /** Like {@link #localBytes}, of ints. */
  default int[] localInts(int length) {
    throw PlainItem.methodsOnly("localInts");
  }

  /** Like {@link #localBytes}, of longs. */
  default long[] localLongs(int length) {
    throw PlainItem.methodsOnly("localLongs");
  }

  /** Like {@link #localBytes}, of floats. */
  default float[] localFloats(int length) {
    throw PlainItem.methodsOnly("localFloats");
  }

  /** Like {@link #localBytes}, of doubles. */
  default double[] localDoubles(int length) {
    throw PlainItem.methodsOnly("localDoubles");
  }

  /**
   * Adds to an element in one step, which no other item comes between; returns the value before.
   * The atomic operations order nothing but the element itself.
   */
  default int atomicAdd(int[] array, int index, int value) {
    return (int) PlainItem.INTS.getAndAdd(array, index, value);
  }

  /** Like {@link #atomicAdd(int[], int, int)}; devices without 64-bit atomics refuse it. */
  default long atomicAdd(long[] array, int index, long value) {
    return (long) PlainItem.LONGS.getAndAdd(array, index, value);
  }

  /**
   * Like {@link #atomicAdd(int[], int, int)}. The order of the sums of several items is not fixed,
   * so rounding may differ from run to run.
   */
  default float atomicAdd(float[] array, int index, float value) {
    return (float) PlainItem.FLOATS.getAndAdd(array, index, value);
  }

  /** Sets an element to the lesser of it and a value in one step; returns the value before. */
  default int atomicMin(int[] array, int index, int value) {
    return PlainItem.update(array, index, before -> Math.min(before, value));
  }

  /** Like {@link #atomicMin(int[], int, int)}; devices without 64-bit atomics refuse it. */
  default long atomicMin(long[] array, int index, long value) {
    return PlainItem.update(array, index, before -> Math.min(before, value));
  }

  /** Sets an element to the greater of it and a value in one step; returns the value before. */
  default int atomicMax(int[] array, int index, int value) {
    return PlainItem.update(array, index, before -> Math.max(before, value));
  }

  /** Like {@link #atomicMax(int[], int, int)}; devices without 64-bit atomics refuse it. */
  default long atomicMax(long[] array, int index, long value) {
    return PlainItem.update(array, index, before -> Math.max(before, value));
  }

  /** Sets an element if it is as expected, in one step; returns whether it was. */
  default boolean atomicCompareAndSet(int[] array, int index, int expected, int value) {
    return PlainItem.INTS.compareAndSet(array, index, expected, value);
  }

  /** Like the method for ints; devices without 64-bit atomics refuse it. */
  default boolean atomicCompareAndSet(long[] array, int index, long expected, long value) {
    return PlainItem.LONGS.compareAndSet(array, index, expected, value);
  }
}
