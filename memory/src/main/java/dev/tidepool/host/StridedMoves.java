package dev.tidepool.host;

import java.lang.constant.ConstantDescs;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The template of loops over the structs of a block, loaded by {@link ColumnMoves} with the size of
 * a struct. With a distance that the compiler knows it checks the bounds of a loop once, and counts
 * up the place instead of multiplying; with any other it does both for each element.
 */
final class StridedMoves implements ColumnMoves.Loops {
  private static final int STRIDE;
  private static final VarHandle SHORTS = view(short[].class);
  private static final VarHandle INTS = view(int[].class);
  private static final VarHandle LONGS = view(long[].class);

  static {
    try {
      STRIDE =
          MethodHandles.classData(
              MethodHandles.lookup(), ConstantDescs.DEFAULT_NAME, Integer.class);
    } catch (IllegalAccessException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static VarHandle view(Class<?> arrayClass) {
    return MethodHandles.byteArrayViewVarHandle(arrayClass, ByteOrder.nativeOrder());
  }

  @Override
  public void split(int bytes, byte[] structs, int offset, byte[] column, int count) {
    switch (bytes) {
      case Byte.BYTES -> {
        for (int i = 0; i < count; i++) {
          column[i] = structs[offset + i * STRIDE];
        }
      }
      case Short.BYTES -> {
        for (int i = 0; i < count; i++) {
          short element = (short) SHORTS.get(structs, offset + i * STRIDE);
          SHORTS.set(column, i * Short.BYTES, element);
        }
      }
      case Integer.BYTES -> {
        for (int i = 0; i < count; i++) {
          int element = (int) INTS.get(structs, offset + i * STRIDE);
          INTS.set(column, i * Integer.BYTES, element);
        }
      }
      case Long.BYTES -> {
        for (int i = 0; i < count; i++) {
          long element = (long) LONGS.get(structs, offset + i * STRIDE);
          LONGS.set(column, i * Long.BYTES, element);
        }
      }
      default -> {
        for (int i = 0; i < count; i++) {
          System.arraycopy(structs, offset + i * STRIDE, column, i * bytes, bytes);
        }
      }
    }
  }

  @Override
  public void join(int bytes, byte[] column, byte[] structs, int offset, int count) {
    switch (bytes) {
      case Byte.BYTES -> {
        for (int i = 0; i < count; i++) {
          structs[offset + i * STRIDE] = column[i];
        }
      }
      case Short.BYTES -> {
        for (int i = 0; i < count; i++) {
          short element = (short) SHORTS.get(column, i * Short.BYTES);
          SHORTS.set(structs, offset + i * STRIDE, element);
        }
      }
      case Integer.BYTES -> {
        for (int i = 0; i < count; i++) {
          int element = (int) INTS.get(column, i * Integer.BYTES);
          INTS.set(structs, offset + i * STRIDE, element);
        }
      }
      case Long.BYTES -> {
        for (int i = 0; i < count; i++) {
          long element = (long) LONGS.get(column, i * Long.BYTES);
          LONGS.set(structs, offset + i * STRIDE, element);
        }
      }
      default -> {
        for (int i = 0; i < count; i++) {
          System.arraycopy(column, i * bytes, structs, offset + i * STRIDE, bytes);
        }
      }
    }
  }
}
