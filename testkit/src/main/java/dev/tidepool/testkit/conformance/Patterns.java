package dev.tidepool.testkit.conformance;

import dev.tidepool.ElementType;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Array;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Arrays of every element type with distinctive contents. */
public final class Patterns {
  /** A struct with padding, nesting and all widths. */
  public record Drop(byte colour, double depth, short count, boolean salty, Place place) {}

  /** A part of {@link Drop}. */
  public record Place(float x, long cell, int y) {}

  /** The element type of {@link Drop}. */
  public static final ElementType<Drop[]> DROP =
      ElementType.struct(Drop.class, MethodHandles.lookup());

  /** All element types: signed, unsigned, floating-point, boolean, records. */
  public static final List<ElementType<?>> TYPES =
      List.of(
          ElementType.BYTE,
          ElementType.SHORT,
          ElementType.INT,
          ElementType.LONG,
          ElementType.FLOAT,
          ElementType.DOUBLE,
          ElementType.BOOLEAN,
          ElementType.UNSIGNED_BYTE,
          ElementType.UNSIGNED_SHORT,
          ElementType.UNSIGNED_INT,
          ElementType.UNSIGNED_LONG,
          DROP);

  private Patterns() {}

  /**
   * Returns an array that the seed determines; floating-point elements are small integers plus a
   * half.
   */
  public static <A> A array(ElementType<A> type, int length, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    A array = type.newArray(length);
    switch (array) {
      case byte[] bytes -> random.nextBytes(bytes);
      case short[] shorts -> {
        for (int i = 0; i < length; i++) {
          shorts[i] = (short) random.nextInt();
        }
      }
      case int[] ints -> Arrays.setAll(ints, _ -> random.nextInt());
      case long[] longs -> Arrays.setAll(longs, _ -> random.nextLong());
      case float[] floats -> {
        for (int i = 0; i < length; i++) {
          floats[i] = random.nextInt(-4000, 4000) + 0.5f;
        }
      }
      case double[] doubles -> Arrays.setAll(doubles, _ -> random.nextInt(-4000, 4000) + 0.5);
      case boolean[] booleans -> {
        for (int i = 0; i < length; i++) {
          booleans[i] = random.nextBoolean();
        }
      }
      case Drop[] drops -> Arrays.setAll(drops, _ -> drop(random));
      default -> throw new IllegalArgumentException("no pattern for " + type);
    }
    return array;
  }

  private static Drop drop(SplittableRandom random) {
    return new Drop(
        (byte) random.nextInt(),
        random.nextInt(1000) / 8.0,
        (short) random.nextInt(),
        random.nextBoolean(),
        new Place(random.nextInt(1000) / 4f, random.nextLong(), random.nextInt()));
  }

  /** Returns the elements from {@code from} to {@code to} of an array. */
  @SuppressWarnings("SuspiciousSystemArraycopy") // carriers are arrays
  public static <A> A range(ElementType<A> type, A array, int from, int to) {
    A part = type.newArray(to - from);
    System.arraycopy(array, from, part, 0, to - from);
    return part;
  }

  /** Returns an array with the elements of another one in place of its own from {@code at} on. */
  @SuppressWarnings("SuspiciousSystemArraycopy") // carriers are arrays
  public static <A> A overlaid(ElementType<A> type, A array, int at, A part) {
    A whole = range(type, array, 0, type.length(array));
    System.arraycopy(part, 0, whole, at, type.length(part));
    return whole;
  }

  /** Fails at the first element that differs, with its index. */
  public static void assertEqual(Object actual, Object expected, String what) {
    int mismatch = mismatch(actual, expected);
    if (mismatch >= 0) {
      throw new AssertionError(
          "%s: element %s is %s, but %s was expected (lengths %s and %s)"
              .formatted(
                  what,
                  mismatch,
                  element(actual, mismatch),
                  element(expected, mismatch),
                  Array.getLength(actual),
                  Array.getLength(expected)));
    }
  }

  private static String element(Object array, int index) {
    return index < Array.getLength(array) ? String.valueOf(Array.get(array, index)) : "absent";
  }

  private static int mismatch(Object actual, Object expected) {
    return switch (actual) {
      case byte[] a -> Arrays.mismatch(a, (byte[]) expected);
      case short[] a -> Arrays.mismatch(a, (short[]) expected);
      case int[] a -> Arrays.mismatch(a, (int[]) expected);
      case long[] a -> Arrays.mismatch(a, (long[]) expected);
      case float[] a -> Arrays.mismatch(a, (float[]) expected);
      case double[] a -> Arrays.mismatch(a, (double[]) expected);
      case boolean[] a -> Arrays.mismatch(a, (boolean[]) expected);
      case Object[] a -> Arrays.mismatch(a, (Object[]) expected);
      default -> throw new IllegalArgumentException(actual + " is no array of elements");
    };
  }
}
