package dev.tidepool.interop;

import dev.tidepool.MapMode;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.Objects;

/**
 * Columns for other libraries, and from them, by <a
 * href="https://arrow.apache.org/docs/format/CDataInterface.html">Arrow's C data interface</a>: the
 * structures by which Arrow's libraries, DuckDB, Polars and others exchange columns without copies.
 * A column is an array of numbers, dates or times, with or without nulls.
 *
 * {@snippet :
 * try (ArrowExport column = ArrowC.export(whole)) {
 *   library.take(column.array(), column.schema());
 * }
 *
 * try (ArrowColumn column = ArrowC.open(memory, library.array(), library.schema())) {
 *   column.buffer(ElementType.FLOAT).asReadOnlySegment();
 * } // releases the array of the library
 * }
 *
 * <p>Arrow asks both sides to take data that they share for immutable. Nothing here enforces that,
 * unless {@link #open(UnifiedMemoryManager, long, long, MapMode)} is asked to. Safe for use by any
 * thread.
 */
public final class ArrowC {
  private ArrowC() {}

  /**
   * Exports the host's copy of a buffer as a column without nulls. The memory stays until the
   * consumer releases the array, though the buffer or the manager may be closed before; otherwise
   * it is as an export by {@link DLPack#exportHost}.
   *
   * @throws IllegalArgumentException if the elements are truth values, which are bits in Arrow, or
   *     records
   * @throws UnsupportedOperationException if the buffer may only be read, or has no host view
   */
  public static ArrowExport export(UnifiedBuffer<?> buffer) {
    return ArrowExport.of(Objects.requireNonNull(buffer, "buffer"));
  }

  /**
   * Opens a column that is in the host's memory. This takes array and schema over, as Arrow calls
   * it by moving them: both structures are marked as released, whether this returns or throws, and
   * the memory that they are in may be freed then.
   *
   * @param array address of an {@code ArrowArray}
   * @param schema address of an {@code ArrowSchema}
   * @throws IllegalArgumentException if an address is none, a structure is released already, or the
   *     array contradicts itself
   * @throws UnsupportedOperationException if the column is no array of numbers, dates or times
   */
  public static ArrowColumn open(UnifiedMemoryManager manager, long array, long schema) {
    return open(manager, array, schema, MapMode.READ_WRITE);
  }

  /**
   * Like {@link #open(UnifiedMemoryManager, long, long)}; with READ the buffer refuses writes.
   *
   * @throws IllegalArgumentException as there
   */
  public static ArrowColumn open(
      UnifiedMemoryManager manager, long array, long schema, MapMode mode) {
    return ArrowColumn.open(manager, array, schema, Objects.requireNonNull(mode, "mode"));
  }
}
