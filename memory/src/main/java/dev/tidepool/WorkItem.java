package dev.tidepool;

import java.lang.foreign.MemorySegment;

/**
 * The position of a work item in the range of its kernel. A {@linkplain KernelSource#method method}
 * receives its arguments as parameters; a {@link JavaKernel} reads them from its item. Valid only
 * during the call of the kernel.
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

  /** Returns the size of a group in a dimension; 1 if the launch has no group size. */
  long groupSize(int dimension);

  /**
   * Returns the bytes of the array argument at {@code index} of the declared parameters. Only for a
   * {@link JavaKernel}, like {@link #scalar}, {@link #integer} and {@link #localMemory}; a {@link
   * KernelSource#method method} that calls one of them is rejected when it is compiled.
   *
   * @throws IllegalArgumentException if that parameter is a scalar
   * @throws UnsupportedOperationException if this is an item of {@link #of}
   */
  MemorySegment array(int index);

  /**
   * Returns the scalar argument at {@code index} of the declared parameters, as a double. Only for
   * a {@link JavaKernel}.
   *
   * @throws IllegalArgumentException if that parameter is an array
   * @throws UnsupportedOperationException if this is an item of {@link #of}
   */
  double scalar(int index);

  /**
   * Returns the scalar argument at {@code index} of the declared parameters, as a long. Only for a
   * {@link JavaKernel}.
   *
   * @throws IllegalArgumentException if that parameter is an array
   * @throws UnsupportedOperationException if this is an item of {@link #of}
   */
  long integer(int index);

  /**
   * Returns the memory that the items of one group share. The launch sets its size. Only for a
   * {@link JavaKernel}.
   *
   * @throws UnsupportedOperationException if this is an item of {@link #of}
   */
  MemorySegment localMemory();

  /**
   * Returns an item for a direct call of a kernel's method, as in a unit test. The item is the only
   * one of its group, and the last one of its range.
   *
   * {@snippet :
   * float[] y = new float[3];
   * Kernels.twice(WorkItem.of(2), new float[] {1, 2, 3}, y);
   * }
   *
   * @param globalId the index of the item in each of one to three dimensions
   */
  static WorkItem of(long... globalId) {
    return PlainItem.of(globalId);
  }

  /**
   * Waits until all items of the group have reached a barrier. Stores to memory of the group before
   * the barrier are visible after it. Only for kernels of {@link KernelSource#method methods}; all
   * items of a group must reach the same barriers.
   *
   * @throws UnsupportedOperationException in a {@link JavaKernel}
   */
  default void barrier() {
    throw PlainItem.methodsOnly("barrier");
  }

  /**
   * Returns an array that the items of a group share, with undefined contents. Each call in the
   * source has its own array. Only for kernels of {@link KernelSource#method methods}.
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
   * Adds to an element atomically, and returns the previous value. Atomic operations order no
   * accesses to other elements.
   */
  default int atomicAdd(int[] array, int index, int value) {
    return (int) PlainItem.INTS.getAndAdd(array, index, value);
  }

  /** Like {@link #atomicAdd(int[], int, int)}. Devices without 64-bit atomics reject the kernel. */
  default long atomicAdd(long[] array, int index, long value) {
    return (long) PlainItem.LONGS.getAndAdd(array, index, value);
  }

  /**
   * Like {@link #atomicAdd(int[], int, int)}. The order of the additions is not fixed, so rounding
   * may differ from run to run.
   */
  default float atomicAdd(float[] array, int index, float value) {
    return (float) PlainItem.FLOATS.getAndAdd(array, index, value);
  }

  /**
   * Sets an element to the minimum of the element and a value atomically, and returns the previous
   * value.
   */
  default int atomicMin(int[] array, int index, int value) {
    return PlainItem.update(array, index, before -> Math.min(before, value));
  }

  /** Like {@link #atomicMin(int[], int, int)}. Devices without 64-bit atomics reject the kernel. */
  default long atomicMin(long[] array, int index, long value) {
    return PlainItem.update(array, index, before -> Math.min(before, value));
  }

  /**
   * Sets an element to the maximum of the element and a value atomically, and returns the previous
   * value.
   */
  default int atomicMax(int[] array, int index, int value) {
    return PlainItem.update(array, index, before -> Math.max(before, value));
  }

  /** Like {@link #atomicMax(int[], int, int)}. Devices without 64-bit atomics reject the kernel. */
  default long atomicMax(long[] array, int index, long value) {
    return PlainItem.update(array, index, before -> Math.max(before, value));
  }

  /** Sets an element atomically if it has the expected value, and returns whether it had. */
  default boolean atomicCompareAndSet(int[] array, int index, int expected, int value) {
    return PlainItem.INTS.compareAndSet(array, index, expected, value);
  }

  /**
   * Like {@link #atomicCompareAndSet(int[], int, int, int)}. Devices without 64-bit atomics reject
   * the kernel.
   */
  default boolean atomicCompareAndSet(long[] array, int index, long expected, long value) {
    return PlainItem.LONGS.compareAndSet(array, index, expected, value);
  }
}
