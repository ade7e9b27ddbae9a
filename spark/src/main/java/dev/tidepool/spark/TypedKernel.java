package dev.tidepool.spark;

import java.io.Serializable;
import java.util.List;
import java.util.Map;

/**
 * A kernel in which every name has a meaning and a type. The driver creates it, so that errors are
 * found before anything runs, and sends it to the executors.
 *
 * @param kernel the kernel
 * @param arrays the columns that it reads and writes
 */
record TypedKernel(ColumnKernel kernel, List<Array> arrays) implements Serializable {
  /**
   * A column of the kernel.
   *
   * @param name its name in the kernel
   * @param type the type of its values
   * @param isInput whether it contains a column's values when the kernel starts
   * @param isResult whether its values become a column
   * @param isCleared whether it is zeroed before the kernel starts, because the kernel may leave
   *     values unwritten
   */
  record Array(String name, ColumnType type, boolean isInput, boolean isResult, boolean isCleared)
      implements Serializable {}

  TypedKernel {
    arrays = List.copyOf(arrays);
  }

  /**
   * Determines the meaning of every name of a kernel.
   *
   * @param columns the types of its columns, by name
   * @throws IllegalArgumentException if a name has no meaning, or a column or scalar is not used
   * @throws dev.tidepool.KernelCompilationException if the kernel does not accept these types
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
