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
 * unless {@link #open(UnifiedMemoryManager, long, long, MapMode)} is asked to. Thread-safe.
 */
public final class ArrowC {
  private ArrowC() {}

  /**
   * Exports the host's copy of a buffer as a column without nulls. The memory stays until the
   * consumer releases the array, even if the buffer or the manager is closed before. Otherwise it
   * is like an export by {@link DLPack#exportHost}.
   *
   * @throws IllegalArgumentException if the elements are truth values, which are bits in Arrow, or
   *     records
   * @throws UnsupportedOperationException if the buffer may only be read, or has no host view
   */
  public static ArrowExport export(UnifiedBuffer<?> buffer) {
    return ArrowExport.of(Objects.requireNonNull(buffer, "buffer"), false);
  }

  /**
   * Exports the memory that the buffer's accelerator computes in, as {@link DLPack#export} does, as
   * a column without nulls: {@link ArrowExport#array()} is the address of an {@code
   * ArrowDeviceArray}. All work on the buffer has ended, so there is no {@code sync_event} to wait
   * for.
   *
   * @throws IllegalArgumentException as {@link #export} does, or if the buffer is a slice on an
   *     OpenCL device, and does not begin where the device can make a memory object begin
   * @throws IllegalStateException if the buffer is closed, or on the device also if it is mapped or
   *     lent
   * @throws UnsupportedOperationException if the buffer may only be read, or Arrow knows no such
   *     device
   */
  public static ArrowExport exportDevice(UnifiedBuffer<?> buffer) {
    return ArrowExport.of(Objects.requireNonNull(buffer, "buffer"), true);
  }

  /**
   * Opens a column that is in the host's memory. This takes over array and schema, which Arrow
   * calls moving them: both structures are marked as released, whether this returns or throws. Then
   * their memory may be freed. If the thread has too little stack to begin, this throws a {@link
   * StackOverflowError}, and both stay the producer's.
   *
   * @param array address of an {@code ArrowArray}
   * @param schema address of an {@code ArrowSchema}
   * @throws IllegalArgumentException if an address is invalid, a structure is released already, or
   *     the array contradicts itself
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

  /**
   * Opens a column that is in the memory of the manager's device, or of the host, without a copy.
   * Array and schema are taken over as by {@link #open(UnifiedMemoryManager, long, long)}. Waits
   * until the producer's work has ended, where the array has an event for that.
   *
   * @param deviceArray address of an {@code ArrowDeviceArray}
   * @param schema address of an {@code ArrowSchema}
   * @throws IllegalArgumentException as {@link #open(UnifiedMemoryManager, long, long)} does, or if
   *     the column is in the memory of another device or context
   * @throws UnsupportedOperationException if the column is no array of numbers, dates or times, is
   *     in memory of a kind that no accelerator has, or comes with an event of a device that has
   *     none
   */
  public static ArrowColumn openDevice(
      UnifiedMemoryManager manager, long deviceArray, long schema) {
    return openDevice(manager, deviceArray, schema, MapMode.READ_WRITE);
  }

  /**
   * Like {@link #openDevice(UnifiedMemoryManager, long, long)}; with READ the buffer refuses
   * writes.
   *
   * @throws IllegalArgumentException as there
   */
  public static ArrowColumn openDevice(
      UnifiedMemoryManager manager, long deviceArray, long schema, MapMode mode) {
    return ArrowColumn.openDevice(
        manager, deviceArray, schema, Objects.requireNonNull(mode, "mode"));
  }
}
