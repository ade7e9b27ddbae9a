package dev.tidepool.expression.jvm;

/** Generated code that computes one block, from slots to slots. Stateless. */
interface BlockBody {
  /**
   * Computes the first {@code n} elements.
   *
   * @param scratch the slots of the plan
   * @param uniforms the uniforms' raw bits
   * @param n at most the slots' length
   */
  void compute(Scratch scratch, long[] uniforms, int n);
}
