package dev.tidepool;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.IntUnaryOperator;
import java.util.function.LongUnaryOperator;

/**
 * The item that {@link WorkItem#of} returns. It is the only item of its group, so barriers do not
 * wait and local arrays are not shared.
 */
record PlainItem(long x, long y, long z) implements WorkItem {
  static final VarHandle INTS = MethodHandles.arrayElementVarHandle(int[].class);
  static final VarHandle LONGS = MethodHandles.arrayElementVarHandle(long[].class);
  static final VarHandle FLOATS = MethodHandles.arrayElementVarHandle(float[].class);

  static PlainItem of(long... globalId) {
    if (globalId.length < 1 || globalId.length > 3) {
      throw new IllegalArgumentException(
          "an item has one to three dimensions, not " + globalId.length);
    }
    for (long id : globalId) {
      if (id < 0) {
        throw new IllegalArgumentException("an item's index " + id + " is negative");
      }
    }
    return new PlainItem(
        globalId[0], globalId.length > 1 ? globalId[1] : 0, globalId.length > 2 ? globalId[2] : 0);
  }

  static int update(int[] array, int index, IntUnaryOperator change) {
    int before = (int) INTS.getVolatile(array, index);
    int witness = (int) INTS.compareAndExchange(array, index, before, change.applyAsInt(before));
    while (witness != before) {
      before = witness;
      witness = (int) INTS.compareAndExchange(array, index, before, change.applyAsInt(before));
    }
    return before;
  }

  static long update(long[] array, int index, LongUnaryOperator change) {
    long before = (long) LONGS.getVolatile(array, index);
    long witness =
        (long) LONGS.compareAndExchange(array, index, before, change.applyAsLong(before));
    while (witness != before) {
      before = witness;
      witness = (long) LONGS.compareAndExchange(array, index, before, change.applyAsLong(before));
    }
    return before;
  }

  static UnsupportedOperationException methodsOnly(String method) {
    return new UnsupportedOperationException(
        "WorkItem." + method + " is for kernels of KernelSource.method; write the kernel as one");
  }

  private static UnsupportedOperationException bodiesOnly(String method) {
    return new UnsupportedOperationException(
        "WorkItem."
            + method
            + " is for kernels of KernelSource.java; declare arrays and scalars as parameters");
  }

  @Override
  public long globalId(int dimension) {
    return switch (dimension) {
      case 0 -> x;
      case 1 -> y;
      case 2 -> z;
      default -> throw new IndexOutOfBoundsException("there is no dimension " + dimension);
    };
  }

  @Override
  public long localId(int dimension) {
    return 0;
  }

  @Override
  public long groupId(int dimension) {
    return globalId(dimension);
  }

  @Override
  public long globalSize(int dimension) {
    return globalId(dimension) + 1;
  }

  @Override
  public long groupSize(int dimension) {
    return 1;
  }

  @Override
  public MemorySegment array(int index) {
    throw bodiesOnly("array");
  }

  @Override
  public double scalar(int index) {
    throw bodiesOnly("scalar");
  }

  @Override
  public long integer(int index) {
    throw bodiesOnly("integer");
  }

  @Override
  public MemorySegment localMemory() {
    throw bodiesOnly("localMemory");
  }

  @Override
  public void barrier() {
    // The group has no other item.
  }

  @Override
  public byte[] localBytes(int length) {
    return new byte[length];
  }

  @Override
  public short[] localShorts(int length) {
    return new short[length];
  }

  @Override
  public int[] localInts(int length) {
    return new int[length];
  }

  @Override
  public long[] localLongs(int length) {
    return new long[length];
  }

  @Override
  public float[] localFloats(int length) {
    return new float[length];
  }

  @Override
  public double[] localDoubles(int length) {
    return new double[length];
  }
}
