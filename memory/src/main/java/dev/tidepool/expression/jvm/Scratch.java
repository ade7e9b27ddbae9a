package dev.tidepool.expression.jvm;

import dev.tidepool.expression.math.FloatParts;
import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The memory of generated code: a Java array for each slot of its plan, and room for the parts of
 * floats.
 */
final class Scratch {
  final Object[] slots;
  final MemorySegment[] segments;
  final FloatParts parts;

  /** Creates arrays of one block's length, which is small enough for the first cache. */
  Scratch(List<ScalarType> types, int block) {
    slots = new Object[types.size()];
    segments = new MemorySegment[types.size()];
    parts = new FloatParts(block);
    for (int i = 0; i < slots.length; i++) {
      slots[i] = JvmTypes.array(types.get(i), block);
      segments[i] = JvmTypes.segment(slots[i]);
    }
  }

  /** Uses arrays of the caller, for code without routines, which needs nothing else. */
  Scratch(Object[] slots) {
    this.slots = slots;
    this.segments = new MemorySegment[0];
    this.parts = new FloatParts(0);
  }
}
