package dev.tidepool.expression.jvm;

import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.TypedProgram;
import java.lang.foreign.MemorySegment;

/**
 * A program as code for the CPU. Safe for use by several threads at once. A call allocates nothing
 * if as many calls have run at the same time before.
 */
public interface CpuLoop {
  /**
   * Computes the elements {@code from} (inclusive) to {@code to} (exclusive) of every written
   * array.
   *
   * <p>Blocks of elements are read, computed and written one after the other, so an output may be
   * the same memory as an input; shifted overlaps give undefined elements.
   *
   * @param arrays the memory of {@link TypedProgram#arrays()}, in that order, element 0 at offset
   *     0; of any alignment, native or heap
   * @param uniforms from {@link TypedProgram#uniformValues}
   * @param from the first element
   * @param to the element after the last
   * @throws IndexOutOfBoundsException if a segment is shorter; the elements before may be written
   */
  void run(MemorySegment[] arrays, long[] uniforms, long from, long to);

  /**
   * Computes elements as {@link #run(MemorySegment[], long[], long, long)} does. If the code does
   * little for each element, it works directly on the memory. That is faster if no cache holds the
   * arrays, and slower if one does.
   */
  void stream(MemorySegment[] arrays, long[] uniforms, long from, long to);

  /**
   * Computes the first {@code count} elements of every written array. If the code is one loop, and
   * no array is both read and written, it works directly on these arrays.
   *
   * @param arrays for each of {@link TypedProgram#arrays()}, in that order, an array returned by
   *     {@link #array}
   * @param uniforms from {@link TypedProgram#uniformValues}
   * @param count at most the arrays' length
   */
  void run(Object[] arrays, long[] uniforms, int count);

  /**
   * Returns a Java array for elements of a type, as an argument of {@link #run(Object[], long[],
   * int)}.
   */
  static Object array(ScalarType type, int length) {
    return JvmTypes.array(type, length);
  }

  /** Returns the memory of an array returned by {@link #array}. */
  static MemorySegment segment(Object array) {
    return JvmTypes.segment(array);
  }

  /**
   * Generates and loads the code for {@code program}. This takes milliseconds, so keep the result.
   */
  static CpuLoop compile(TypedProgram program) {
    LoopPlan plan = new LoopPlan(program);
    return new BlockLoop(program, plan, LoopCompiler.compile(program, plan));
  }
}
