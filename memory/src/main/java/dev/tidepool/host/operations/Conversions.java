package dev.tidepool.host.operations;

import java.lang.foreign.MemorySegment;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Converts elements like Java's casts, and swaps their bytes, through blocks on the heap.
 *
 * <p>C2 vectorises loops over arrays but, in Java 25, no loops over segments. The blocks fit in the
 * first-level cache, and are large enough to outweigh the cost of each.
 */
public final class Conversions {
  /**
   * The bytes of a block of the larger elements. Not a multiple of 4 KiB, because the blocks follow
   * each other on the heap: a processor confuses a load with a recent store at about that distance.
   */
  private static final int BLOCK_BYTES = 6144;

  /** The number of elements whose bytes are swapped together. */
  private static final int SWAP_BLOCK = 2048;

  /** Converts the first elements of one array to another. Both have the carriers' classes. */
  @FunctionalInterface
  interface Loop {
    void run(Object source, Object target, int count);
  }

  /**
   * The loops by source and target. Without a direct loop, elements are converted through ints,
   * like Java's casts. Booleans are bytes; as a source they are first converted to 0 or 1.
   */
  private static final Map<PrimitiveType, Map<PrimitiveType, Loop>> LOOPS =
      new EnumMap<>(PrimitiveType.class);

  static {
    set(PrimitiveType.BYTE, PrimitiveType.SHORT, Conversions::byteToShort);
    set(PrimitiveType.BYTE, PrimitiveType.INT, Conversions::byteToInt);
    set(PrimitiveType.BYTE, PrimitiveType.FLOAT, Conversions::byteToFloat);
    set(PrimitiveType.SHORT, PrimitiveType.FLOAT, Conversions::shortToFloat);
    set(PrimitiveType.SHORT, PrimitiveType.BYTE, Conversions::shortToByte);
    set(PrimitiveType.SHORT, PrimitiveType.INT, Conversions::shortToInt);
    set(PrimitiveType.INT, PrimitiveType.BYTE, Conversions::intToByte);
    set(PrimitiveType.INT, PrimitiveType.SHORT, Conversions::intToShort);
    set(PrimitiveType.INT, PrimitiveType.LONG, Conversions::intToLong);
    set(PrimitiveType.INT, PrimitiveType.FLOAT, Conversions::intToFloat);
    set(PrimitiveType.INT, PrimitiveType.DOUBLE, Conversions::intToDouble);
    set(PrimitiveType.LONG, PrimitiveType.INT, Conversions::longToInt);
    set(PrimitiveType.LONG, PrimitiveType.FLOAT, Conversions::longToFloat);
    set(PrimitiveType.LONG, PrimitiveType.DOUBLE, Conversions::longToDouble);
    set(PrimitiveType.FLOAT, PrimitiveType.INT, Conversions::floatToInt);
    set(PrimitiveType.FLOAT, PrimitiveType.LONG, Conversions::floatToLong);
    set(PrimitiveType.FLOAT, PrimitiveType.DOUBLE, Conversions::floatToDouble);
    set(PrimitiveType.DOUBLE, PrimitiveType.INT, Conversions::doubleToInt);
    set(PrimitiveType.DOUBLE, PrimitiveType.LONG, Conversions::doubleToLong);
    set(PrimitiveType.DOUBLE, PrimitiveType.FLOAT, Conversions::doubleToFloat);
    set(PrimitiveType.BYTE, PrimitiveType.BOOLEAN, Conversions::byteToBoolean);
    set(PrimitiveType.BOOLEAN, PrimitiveType.BOOLEAN, Conversions::byteToBoolean);
    set(PrimitiveType.BOOLEAN, PrimitiveType.BYTE, Conversions::byteToBoolean);
    set(PrimitiveType.INT, PrimitiveType.BOOLEAN, Conversions::intToBoolean);
    set(PrimitiveType.LONG, PrimitiveType.BOOLEAN, Conversions::longToBoolean);
    set(PrimitiveType.FLOAT, PrimitiveType.BOOLEAN, Conversions::floatToBoolean);
    set(PrimitiveType.DOUBLE, PrimitiveType.BOOLEAN, Conversions::doubleToBoolean);
  }

  private Conversions() {}

  /** Converts {@code count} elements. The segments are checked, and either apart or the same. */
  public static void convert(
      PrimitiveType from,
      MemorySegment source,
      PrimitiveType to,
      MemorySegment target,
      long count) {
    if (from == to && from != PrimitiveType.BOOLEAN) {
      MemorySegment.copy(source, 0, target, 0, count * from.bytes());
      return;
    }
    int whole = BLOCK_BYTES / Math.max(from.bytes(), to.bytes());
    int block = (int) Math.min(whole, count);
    Way way = new Way(from, to, block);
    Object result = to.newBlock(block);
    for (long at = 0; at < count; at += block) {
      int length = (int) Math.min(block, count - at);
      way.read(source, at, result, length);
      to.write(result, target, at, length);
    }
  }

  /** Swaps {@code count} elements of 2, 4 or 8 bytes. The segments are apart or the same. */
  public static void swapBytes(int width, MemorySegment source, MemorySegment target, long count) {
    PrimitiveType type =
        switch (width) {
          case Short.BYTES -> PrimitiveType.SHORT;
          case Integer.BYTES -> PrimitiveType.INT;
          default -> PrimitiveType.LONG;
        };
    Object block = type.newBlock((int) Math.min(SWAP_BLOCK, count));
    for (long at = 0; at < count; at += SWAP_BLOCK) {
      int length = (int) Math.min(SWAP_BLOCK, count - at);
      type.read(source, at, block, length);
      swapBytes(block, length);
      type.write(block, target, at, length);
    }
  }

  private static void swapBytes(Object block, int count) {
    switch (block) {
      case short[] shorts -> {
        for (int i = 0; i < count; i++) {
          shorts[i] = Short.reverseBytes(shorts[i]);
        }
      }
      case int[] ints -> {
        for (int i = 0; i < count; i++) {
          ints[i] = Integer.reverseBytes(ints[i]);
        }
      }
      case long[] longs -> {
        for (int i = 0; i < count; i++) {
          longs[i] = Long.reverseBytes(longs[i]);
        }
      }
      default -> throw new IllegalArgumentException("a block of " + block.getClass());
    }
  }

  private static void set(PrimitiveType from, PrimitiveType to, Loop loop) {
    LOOPS.computeIfAbsent(from, first -> new EnumMap<>(PrimitiveType.class)).put(to, loop);
  }

  /** Reads elements of one type into a block of another type. */
  static final class Way {
    private final PrimitiveType from;
    private final Object source;

    /** Null if elements are read without conversion. */
    private final @Nullable Loop loop;

    /** Creates a conversion of at most {@code block} elements at a time. */
    Way(PrimitiveType from, PrimitiveType to, int block) {
      this.from = from;
      this.source = from.newBlock(block);
      this.loop = from == to && from != PrimitiveType.BOOLEAN ? null : loop(from, to, block);
    }

    void read(MemorySegment segment, long first, Object target, int count) {
      if (loop == null) {
        from.read(segment, first, target, count);
      } else {
        from.read(segment, first, source, count);
        loop.run(source, target, count);
      }
    }

    private static Loop loop(PrimitiveType from, PrimitiveType to, int block) {
      Loop direct = LOOPS.getOrDefault(from, Map.of()).get(to);
      if (direct != null) {
        return direct;
      }
      if (from == PrimitiveType.BOOLEAN) {
        Loop number = loop(PrimitiveType.BYTE, to, block);
        return (source, target, count) -> {
          byteToBoolean(source, source, count);
          number.run(source, target, count);
        };
      }
      int[] between = new int[block];
      Loop toInts = loop(from, PrimitiveType.INT, block);
      Loop fromInts = loop(PrimitiveType.INT, to, block);
      return (source, target, count) -> {
        toInts.run(source, between, count);
        fromInts.run(between, target, count);
      };
    }
  }

  private static void byteToShort(Object source, Object target, int count) {
    byte[] s = (byte[]) source;
    short[] t = (short[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = s[i];
    }
  }

  private static void byteToInt(Object source, Object target, int count) {
    byte[] s = (byte[]) source;
    int[] t = (int[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = s[i];
    }
  }

  private static void shortToByte(Object source, Object target, int count) {
    short[] s = (short[]) source;
    byte[] t = (byte[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (byte) s[i];
    }
  }

  private static void shortToInt(Object source, Object target, int count) {
    short[] s = (short[]) source;
    int[] t = (int[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = s[i];
    }
  }

  private static void intToByte(Object source, Object target, int count) {
    int[] s = (int[]) source;
    byte[] t = (byte[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (byte) s[i];
    }
  }

  private static void intToShort(Object source, Object target, int count) {
    int[] s = (int[]) source;
    short[] t = (short[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (short) s[i];
    }
  }

  private static void intToLong(Object source, Object target, int count) {
    int[] s = (int[]) source;
    long[] t = (long[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = s[i];
    }
  }

  private static void byteToFloat(Object source, Object target, int count) {
    byte[] s = (byte[]) source;
    float[] t = (float[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = s[i];
    }
  }

  private static void shortToFloat(Object source, Object target, int count) {
    short[] s = (short[]) source;
    float[] t = (float[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = s[i];
    }
  }

  private static void intToFloat(Object source, Object target, int count) {
    int[] s = (int[]) source;
    float[] t = (float[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (float) s[i];
    }
  }

  private static void intToDouble(Object source, Object target, int count) {
    int[] s = (int[]) source;
    double[] t = (double[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = s[i];
    }
  }

  private static void longToInt(Object source, Object target, int count) {
    long[] s = (long[]) source;
    int[] t = (int[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (int) s[i];
    }
  }

  private static void longToFloat(Object source, Object target, int count) {
    long[] s = (long[]) source;
    float[] t = (float[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (float) s[i];
    }
  }

  private static void longToDouble(Object source, Object target, int count) {
    long[] s = (long[]) source;
    double[] t = (double[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (double) s[i];
    }
  }

  private static void floatToInt(Object source, Object target, int count) {
    float[] s = (float[]) source;
    int[] t = (int[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (int) s[i];
    }
  }

  private static void floatToLong(Object source, Object target, int count) {
    float[] s = (float[]) source;
    long[] t = (long[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (long) s[i];
    }
  }

  private static void floatToDouble(Object source, Object target, int count) {
    float[] s = (float[]) source;
    double[] t = (double[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = s[i];
    }
  }

  private static void doubleToInt(Object source, Object target, int count) {
    double[] s = (double[]) source;
    int[] t = (int[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (int) s[i];
    }
  }

  private static void doubleToLong(Object source, Object target, int count) {
    double[] s = (double[]) source;
    long[] t = (long[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (long) s[i];
    }
  }

  private static void doubleToFloat(Object source, Object target, int count) {
    double[] s = (double[]) source;
    float[] t = (float[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (float) s[i];
    }
  }

  private static void byteToBoolean(Object source, Object target, int count) {
    byte[] s = (byte[]) source;
    byte[] t = (byte[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (byte) (s[i] != 0 ? 1 : 0);
    }
  }

  private static void intToBoolean(Object source, Object target, int count) {
    int[] s = (int[]) source;
    byte[] t = (byte[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (byte) (s[i] != 0 ? 1 : 0);
    }
  }

  private static void longToBoolean(Object source, Object target, int count) {
    long[] s = (long[]) source;
    byte[] t = (byte[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (byte) (s[i] != 0 ? 1 : 0);
    }
  }

  private static void floatToBoolean(Object source, Object target, int count) {
    float[] s = (float[]) source;
    byte[] t = (byte[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (byte) (s[i] != 0 ? 1 : 0);
    }
  }

  private static void doubleToBoolean(Object source, Object target, int count) {
    double[] s = (double[]) source;
    byte[] t = (byte[]) target;
    for (int i = 0; i < count; i++) {
      t[i] = (byte) (s[i] != 0 ? 1 : 0);
    }
  }
}
