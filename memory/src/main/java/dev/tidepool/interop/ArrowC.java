package dev.tidepool.interop;

import dev.tidepool.MapMode;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.Objects;

/**
 * Exchanges columns with other libraries by <a
 * href="https://arrow.apache.org/docs/format/CDataInterface.html">Arrow's C data interface</a>: the
 * structures that Arrow's libraries, DuckDB, Polars and others use to exchange columns without
 * copies. A column is an array of numbers, dates or times, with or without nulls.
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
 * <p>Arrow requires that both sides treat shared data as immutable. This class does not enforce
 * that, unless {@link #open(UnifiedMemoryManager, long, long, MapMode)} is called with READ.
 * Thread-safe.
 */
public final class ArrowC {
  private ArrowC() {}

  /**
   * Exports the host's copy of a buffer as a column without nulls. The memory stays valid until the
   * consumer releases the array, even if the buffer or the manager is closed before. In other
   * respects it is like an export by {@link DLPack#exportHost}.
   *
   * @throws IllegalArgumentException if the elements are booleans, which are bits in Arrow, or
   *     records
   * @throws UnsupportedOperationException if the buffer is read-only, or has no host copy
   */
  public static ArrowExport export(UnifiedBuffer<?> buffer) {
    return ArrowExport.of(Objects.requireNonNull(buffer, "buffer"), false);
  }

  /**
   * Exports the memory that the buffer's accelerator computes in, like {@link DLPack#export}, as a
   * column without nulls. {@link ArrowExport#array()} is the address of an {@code
   * ArrowDeviceArray}. All operations on the buffer have ended, so there is no {@code sync_event}
   * to wait for.
   *
   * @throws IllegalArgumentException as {@link #export} does, or if the buffer is a slice on an
   *     OpenCL device that does not begin at an address allowed for a memory object
   * @throws IllegalStateException if the buffer is closed, or if it is exported from a device and
   *     is mapped or lent
   * @throws UnsupportedOperationException if the buffer is read-only, or Arrow does not support the
   *     kind of device
   */
  public static ArrowExport exportDevice(UnifiedBuffer<?> buffer) {
    return ArrowExport.of(Objects.requireNonNull(buffer, "buffer"), true);
  }

  /**
   * Opens a column in the host's memory. This method moves array and schema, in Arrow's terms: it
   * marks both structures as released, whether it returns or throws. Then their memory may be
   * freed. If the thread has too little stack to start, this method throws {@link
   * StackOverflowError}, and the producer still owns both.
   *
   * @param array the address of an {@code ArrowArray}
   * @param schema the address of an {@code ArrowSchema}
   * @throws IllegalArgumentException if an address is invalid, a structure is already released, or
   *     the array is inconsistent
   * @throws UnsupportedOperationException if the column is not an array of numbers, dates or times
   */
  public static ArrowColumn open(UnifiedMemoryManager manager, long array, long schema) {
    return open(manager, array, schema, MapMode.READ_WRITE);
  }

  /**
   * Like {@link #open(UnifiedMemoryManager, long, long)}, with a mode. In READ, writes to the
   * buffer throw.
   *
   * @throws IllegalArgumentException as {@link #open(UnifiedMemoryManager, long, long)}
   */
  public static ArrowColumn open(
      UnifiedMemoryManager manager, long array, long schema, MapMode mode) {
    return ArrowColumn.open(manager, array, schema, Objects.requireNonNull(mode, "mode"));
  }

  /**
   * Opens a column in the memory of the manager's device, or of the host, without a copy. Array and
   * schema are moved as by {@link #open(UnifiedMemoryManager, long, long)}. If the array has an
   * event, this method waits until the producer's work has ended.
   *
   * @param deviceArray the address of an {@code ArrowDeviceArray}
   * @param schema the address of an {@code ArrowSchema}
   * @throws IllegalArgumentException as {@link #open(UnifiedMemoryManager, long, long)} does, or if
   *     the column is in the memory of another device or context
   * @throws UnsupportedOperationException if the column is not an array of numbers, dates or times,
   *     is in memory of a kind that no accelerator has, or has an event although its device has no
   *     events
   */
  public static ArrowColumn openDevice(
      UnifiedMemoryManager manager, long deviceArray, long schema) {
    return openDevice(manager, deviceArray, schema, MapMode.READ_WRITE);
  }

  /**
   * Like {@link #openDevice(UnifiedMemoryManager, long, long)}, with a mode. In READ, writes to the
   * buffer throw.
   *
   * @throws IllegalArgumentException as {@link #openDevice(UnifiedMemoryManager, long, long)}
   */
  public static ArrowColumn openDevice(
      UnifiedMemoryManager manager, long deviceArray, long schema, MapMode mode) {
    return ArrowColumn.openDevice(
        manager, deviceArray, schema, Objects.requireNonNull(mode, "mode"));
  }
}
