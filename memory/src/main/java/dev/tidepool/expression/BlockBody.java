package dev.tidepool.expression;

/** Generated code for one block: slots to slots. Stateless. */
interface BlockBody {
  /**
   * Computes the first {@code n} elements.
   *
   * @param slots a Java array for each slot of the plan
   * @param uniforms the uniforms' raw bits
   * @param n at most the arrays' length
   */
  void compute(Object[] slots, long[] uniforms, int n);
}
