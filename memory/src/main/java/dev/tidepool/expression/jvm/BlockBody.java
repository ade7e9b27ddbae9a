package dev.tidepool.expression.jvm;

import java.lang.foreign.MemorySegment;

/** Generated code for one block: slots to slots. Stateless. */
interface BlockBody {
  /**
   * Computes the first {@code n} elements.
   *
   * @param scratch the slots of the plan
   * @param uniforms the uniforms' raw bits
   * @param n at most the slots' length
   */
  void compute(Scratch scratch, long[] uniforms, int n);

  /**
   * Computes elements in the arrays of the program themselves. Only for plans that are {@linkplain
   * LoopPlan#isStreaming streaming}.
   *
   * @param from the first element
   * @param to the element after the last
   */
  default void computeDirectly(MemorySegment[] arrays, long[] uniforms, long from, long to) {
    throw new UnsupportedOperationException("the plan is not streaming");
  }
}
