package dev.tidepool.spark;

import java.io.Serializable;
import java.util.List;
import java.util.Map;

/**
 * A kernel whose names all have a meaning and a type. It is made on the driver, so that what does
 * not fit is an error before anything runs, and travels to the executors.
 *
 * @param kernel what is computed
 * @param arrays the columns that it reads and writes
 */
record TypedKernel(ColumnKernel kernel, List<Array> arrays) implements Serializable {
  /**
   * A column of the kernel.
   *
   * @param name what the kernel calls it
   * @param type its values
   * @param isInput whether it has a column's values when the kernel starts
   * @param isResult whether its values become a column
   * @param isCleared whether it has zeros when the kernel starts, because the kernel may leave
   *     values as they are
   */
  record Array(String name, ColumnType type, boolean isInput, boolean isResult, boolean isCleared)
      implements Serializable {}

  /** Copies the list. */
  TypedKernel {
    arrays = List.copyOf(arrays);
  }

  /**
   * Gives every name of a kernel a meaning.
   *
   * @param columns the types of the columns that it gets, by name
   * @throws IllegalArgumentException if a name means nothing, or a column or scalar has no use
   * @throws dev.tidepool.KernelCompilationException if the kernel does not take these types
   */
  static TypedKernel of(ColumnKernel kernel, Map<String, ColumnType> columns) {
    return new KernelTyping(kernel, columns).typed();
  }

  List<Array> inputs() {
    return arrays.stream().filter(Array::isInput).toList();
  }

  List<Array> results() {
    return arrays.stream().filter(Array::isResult).toList();
  }

  @Override
  public String toString() {
    return kernel.toString();
  }
}
