package dev.tidepool.expression.jvm;

import java.lang.foreign.MemorySegment;

/** Generated code that works directly on the memory of a program's arrays. Stateless. */
interface StreamBody {
  /**
   * Computes elements.
   *
   * @param uniforms the uniforms' raw bits
   * @param from the first element
   * @param to the element after the last
   */
  void compute(MemorySegment[] arrays, long[] uniforms, long from, long to);
}
