package dev.tidepool.expression.jvm;

import dev.tidepool.expression.math.FloatParts;
import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** One call's slots: Java arrays of one block's length, small enough to stay in the first cache. */
final class Scratch {
  final Object[] slots;
  final MemorySegment[] segments;
  final FloatParts parts;

  Scratch(List<ScalarType> types, int block) {
    slots = new Object[types.size()];
    segments = new MemorySegment[types.size()];
    parts = new FloatParts(block);
    for (int i = 0; i < slots.length; i++) {
      switch (types.get(i)) {
        case BOOL, INT8, UINT8 -> {
          byte[] array = new byte[block];
          slots[i] = array;
          segments[i] = MemorySegment.ofArray(array);
        }
        case INT16 -> {
          short[] array = new short[block];
          slots[i] = array;
          segments[i] = MemorySegment.ofArray(array);
        }
        case UINT16 -> {
          char[] array = new char[block];
          slots[i] = array;
          segments[i] = MemorySegment.ofArray(array);
        }
        case INT32, UINT32 -> {
          int[] array = new int[block];
          slots[i] = array;
          segments[i] = MemorySegment.ofArray(array);
        }
        case INT64, UINT64 -> {
          long[] array = new long[block];
          slots[i] = array;
          segments[i] = MemorySegment.ofArray(array);
        }
        case FLOAT32 -> {
          float[] array = new float[block];
          slots[i] = array;
          segments[i] = MemorySegment.ofArray(array);
        }
        case FLOAT64 -> {
          double[] array = new double[block];
          slots[i] = array;
          segments[i] = MemorySegment.ofArray(array);
        }
      }
    }
  }
}
