package dev.tidepool.testkit.kernels;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Random;

/** The arguments of random kernels: scalars, arrays that are read, and arrays that items write. */
final class KernelData {
  /** The number of items of a launch. */
  static final int ITEMS = 24;

  private static final double[] EDGES = {
    0,
    -0.0,
    1,
    -1,
    2,
    0.5,
    -0.5,
    1.5,
    31,
    32,
    33,
    -7,
    127,
    -128,
    255,
    32768,
    1e-40,
    16777217,
    2147483647,
    -2147483648.0,
    4294967296.0,
    9e18,
    -1e19,
    3e38,
    1e300,
    -1e-310,
    Double.NaN,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY
  };

  private KernelData() {}

  /** Returns all arguments after the index, in order. */
  static Object[] of(KernelBody body) {
    Random random = new Random(~body.seed());
    int[] lengths = {Scope.LEAST_LENGTH, Scope.LEAST_LENGTH + 1, 40, Scope.MOST_LENGTH};
    List<Kind> elements = body.kinds().elements();
    List<Object> arguments = new ArrayList<>();
    arguments.add((byte) random.nextInt());
    arguments.add((short) random.nextInt());
    arguments.add(number(random).intValue());
    arguments.add(number(random).longValue());
    arguments.add(number(random).floatValue());
    double doubled = number(random).doubleValue();
    if (body.kinds().doubles()) {
      arguments.add(doubled);
    }
    arguments.add(random.nextBoolean());
    List<Object> read = new ArrayList<>();
    List<Object> written = new ArrayList<>();
    for (Kind kind : elements) {
      int length = lengths[random.nextInt(lengths.length)];
      read.add(array(kind, length, random));
      written.add(array(kind, ITEMS * body.stride(), random));
    }
    for (StoredArray stored : body.stored()) {
      Object array = array(stored.kind(), body.arrayLength(stored), random);
      if (stored.isShared()) {
        written.set(elements.indexOf(stored.kind()), array);
      }
      arguments.add(array);
    }
    arguments.addAll(read);
    arguments.addAll(written);
    return arguments.toArray();
  }

  private static Number number(Random random) {
    return switch (random.nextInt(4)) {
      case 0 -> random.nextInt();
      case 1 -> random.nextInt(100) - 50;
      case 2 -> random.nextLong() >> random.nextInt(64);
      default -> EDGES[random.nextInt(EDGES.length)];
    };
  }

  private static Object array(Kind kind, int length, Random random) {
    Object array =
        switch (kind) {
          case BOOLEAN -> new boolean[length];
          case BYTE -> new byte[length];
          case SHORT -> new short[length];
          case INT -> new int[length];
          case LONG -> new long[length];
          case FLOAT -> new float[length];
          case DOUBLE -> new double[length];
          case CHAR -> throw new IllegalArgumentException("kernels have no arrays of char");
        };
    for (int i = 0; i < length; i++) {
      Number value = number(random);
      switch (array) {
        case boolean[] flags -> flags[i] = value.intValue() % 2 == 0;
        case byte[] bytes -> bytes[i] = value.byteValue();
        case short[] shorts -> shorts[i] = value.shortValue();
        case int[] ints -> ints[i] = value.intValue();
        case long[] longs -> longs[i] = value.longValue();
        case float[] floats -> floats[i] = value.floatValue();
        case double[] doubles -> doubles[i] = value.doubleValue();
        default -> throw new IllegalStateException("no other kind is made above");
      }
    }
    return array;
  }

  /** Returns a copy of the arguments, with a copy of each array, also if it is passed twice. */
  static Object[] copy(Object[] arguments) {
    IdentityHashMap<Object, Object> copies = new IdentityHashMap<>();
    Object[] copy = arguments.clone();
    for (int i = 0; i < copy.length; i++) {
      if (copy[i].getClass().isArray()) {
        copy[i] = copies.computeIfAbsent(copy[i], KernelData::copy);
      }
    }
    return copy;
  }

  private static Object copy(Object array) {
    int length = Array.getLength(array);
    Object copy = Array.newInstance(array.getClass().getComponentType(), length);
    System.arraycopy(array, 0, copy, 0, length);
    return copy;
  }

  /** Returns the first difference between two lists of arguments; empty if none. NaNs are equal. */
  static String difference(KernelBody body, Object[] expected, Object[] actual) {
    for (int i = 0; i < expected.length; i++) {
      if (!Arrays.deepEquals(new Object[] {expected[i]}, new Object[] {actual[i]})) {
        String name = KernelBody.names(body.kinds()).get(i);
        return inArray(name, expected[i], actual[i]);
      }
    }
    return "";
  }

  private static String inArray(String name, Object expected, Object actual) {
    for (int at = 0; at < Array.getLength(expected); at++) {
      Object right = Array.get(expected, at);
      Object wrong = Array.get(actual, at);
      if (!Objects.equals(right, wrong)) {
        return name + "[" + at + "] is " + wrong + " instead of " + right;
      }
    }
    throw new IllegalStateException("arrays that differ have an element that differs");
  }
}
