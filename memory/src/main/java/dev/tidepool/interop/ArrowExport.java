package dev.tidepool.interop;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.buffer.HostHold;
import dev.tidepool.runtime.threads.StackReserve;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.ref.Cleaner;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A column that {@link ArrowC} exports to another library: an {@code ArrowArray} and an {@code
 * ArrowSchema}. The consumer moves both when it imports the column, as Arrow's libraries do, and
 * releases them when it is done. {@link #close()} frees the structures and releases an array that
 * was not moved, so close the export after the import.
 *
 * <p>An export that becomes unreachable without being closed is reported in the log, and its
 * structures are not freed. Any thread can release the array, including threads unknown to Java.
 * Thread-safe.
 */
public final class ArrowExport implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  /** The contents of arrays that are not released, by their private numbers. */
  private static final Map<Long, Content> OPEN = new ConcurrentHashMap<>();

  // Unlike addresses, numbers are never reused, so a second release of an array finds nothing.
  private static final AtomicLong NUMBERS = new AtomicLong();

  private record Content(ExportedMemory memory, MemorySegment buffers) {
    void end() {
      NativeHeap.free(buffers);
      memory.end();
    }
  }

  /** Initialized by the first export, because linking takes milliseconds. */
  private static final class Release {
    static final MemorySegment ARRAY =
        ReleaseFunction.of(MethodHandles.lookup(), ArrowExport.class, "releaseArray");
    static final MemorySegment SCHEMA =
        ReleaseFunction.of(MethodHandles.lookup(), ArrowExport.class, "releaseSchema");
    static final MemorySegment NO_NAME = Arena.global().allocateFrom("");
  }

  private final MemorySegment structs;
  private final long number;
  private final AtomicBoolean closed = new AtomicBoolean();
  // Assigned before the export is published.
  private Cleaner.@Nullable Cleanable watch;

  private ArrowExport(MemorySegment structs, long number) {
    this.structs = structs;
    this.number = number;
  }

  /**
   * Exports the host's or the device's copy of a buffer.
   *
   * @param onDevice whether to export the copy that the accelerator computes in, not the host's
   */
  static ArrowExport of(UnifiedBuffer<?> buffer, boolean onDevice) {
    MemorySegment format = ArrowFormat.of(buffer.elementType());
    boolean onHost = !onDevice || HostHold.isOnHost(buffer);
    ExportedMemory memory = ExportedMemory.of(buffer, true, onHost, true);
    MemorySegment structs = MemorySegment.NULL;
    MemorySegment buffers = MemorySegment.NULL;
    try {
      structs = NativeHeap.allocate(ArrowStructs.DEVICE_ARRAY_BYTES + ArrowStructs.SCHEMA_BYTES);
      // The first pointer, to the bits of nulls, stays null. The second is the data.
      buffers = NativeHeap.allocate(16);
      buffers.set(JAVA_LONG, 8, memory.data());
      ArrowExport export = new ArrowExport(structs, NUMBERS.incrementAndGet());
      export.fill(format, buffer, buffers, memory);
      AtomicBoolean closed = export.closed;
      export.watch = ForgottenExports.watch(export, () -> forgotten(closed));
      OPEN.put(export.number, new Content(memory, buffers));
      return export;
    } catch (RuntimeException | Error e) {
      NativeHeap.free(buffers);
      NativeHeap.free(structs);
      memory.end();
      throw e;
    }
  }

  /**
   * Reports an export that was not closed. A consumer may not have moved the array yet, so nothing
   * is freed.
   */
  private static void forgotten(AtomicBoolean closed) {
    if (!closed.get()) {
      ForgottenExports.report(
          "an ArrowExport was not closed; its structures, and the memory of a column that no"
              + " consumer took, stay until the process ends");
    }
  }

  private void fill(
      MemorySegment format, UnifiedBuffer<?> buffer, MemorySegment buffers, ExportedMemory memory) {
    MemorySegment array = arrayStruct();
    array.set(JAVA_LONG, ArrowStructs.LENGTH, buffer.length());
    array.set(JAVA_LONG, ArrowStructs.OFFSET, elementsBefore(buffer, memory));
    array.set(JAVA_LONG, ArrowStructs.BUFFER_COUNT, 2);
    array.set(ADDRESS, ArrowStructs.BUFFERS, buffers);
    array.set(JAVA_LONG, ArrowStructs.ARRAY_PRIVATE, number);
    array.set(ADDRESS, ArrowStructs.ARRAY_RELEASE, Release.ARRAY);
    boolean onHost = memory.deviceType() == DeviceTypes.CPU;
    array.set(JAVA_LONG, ArrowStructs.DEVICE_ID, onHost ? -1 : memory.deviceNumber());
    array.set(JAVA_INT, ArrowStructs.DEVICE_TYPE, memory.deviceType());
    MemorySegment schema = schemaStruct();
    schema.set(ADDRESS, ArrowStructs.FORMAT, format);
    schema.set(ADDRESS, ArrowStructs.NAME, Release.NO_NAME);
    schema.set(JAVA_LONG, ArrowStructs.FLAGS, ArrowStructs.NULLABLE);
    schema.set(ADDRESS, ArrowStructs.SCHEMA_RELEASE, Release.SCHEMA);
  }

  /**
   * Returns the offset of a buffer in its memory object, in elements. Metal has no memory objects
   * for parts of others, and Arrow counts in elements.
   */
  private static long elementsBefore(UnifiedBuffer<?> buffer, ExportedMemory memory) {
    long size = buffer.elementType().byteSize();
    if (memory.offset() % size != 0) {
      throw new IllegalArgumentException(
          "the buffer begins at byte "
              + memory.offset()
              + " of a memory object, which is no multiple of its elements' "
              + size
              + " bytes, so it is no Arrow column; copy it to a buffer of its own");
    }
    return memory.offset() / size;
  }

  private MemorySegment arrayStruct() {
    return structs.asSlice(0, ArrowStructs.DEVICE_ARRAY_BYTES);
  }

  private MemorySegment schemaStruct() {
    return structs.asSlice(ArrowStructs.DEVICE_ARRAY_BYTES, ArrowStructs.SCHEMA_BYTES);
  }

  /**
   * Releases an array. Consumers call this. It throws nothing, which would crash the virtual
   * machine.
   */
  @SuppressWarnings("UnusedMethod") // the stub finds it by its name
  private static void releaseArray(MemorySegment struct) {
    try {
      MemorySegment array = struct.reinterpret(ArrowStructs.ARRAY_BYTES);
      array.set(JAVA_LONG, ArrowStructs.ARRAY_RELEASE, 0);
      Content content = OPEN.remove(array.get(JAVA_LONG, ArrowStructs.ARRAY_PRIVATE));
      if (content == null) {
        LOG.log(
            System.Logger.Level.WARNING,
            "an Arrow array was released twice: a consumer copied it without marking the original"
                + " as released");
      } else {
        content.end();
      }
    } catch (Throwable e) {
      ReleaseFunction.failed("an Arrow array", e);
    }
  }

  /** Releases a schema. Consumers call this. The texts that a schema refers to are never freed. */
  @SuppressWarnings("UnusedMethod") // the stub finds it by its name
  private static void releaseSchema(MemorySegment struct) {
    try {
      struct.reinterpret(ArrowStructs.SCHEMA_BYTES).set(JAVA_LONG, ArrowStructs.SCHEMA_RELEASE, 0);
    } catch (Throwable e) {
      ReleaseFunction.failed("an Arrow array", e);
    }
  }

  /** Returns the number of arrays, of all managers, that are not released. */
  static int open() {
    return OPEN.size();
  }

  /**
   * Returns the address of the {@code ArrowArray}, valid until this export is closed. For an export
   * of the device's copy, an {@code ArrowDeviceArray} is at the same address.
   */
  public long array() {
    checkOpen();
    return structs.address();
  }

  /** Returns the address of the {@code ArrowSchema}, valid until this export is closed. */
  public long schema() {
    checkOpen();
    return structs.address() + ArrowStructs.DEVICE_ARRAY_BYTES;
  }

  private void checkOpen() {
    if (closed.get()) {
      throw new IllegalStateException(
          "the structures of this column are freed; export the buffer again");
    }
  }

  /** Returns whether the array was released, by the consumer or by {@link #close()}. */
  public boolean isReleased() {
    return !OPEN.containsKey(number);
  }

  /** Frees the structures, and releases the array unless a consumer has moved it. Idempotent. */
  @Override
  public void close() {
    StackReserve.check();
    if (closed.compareAndSet(false, true)) {
      if (!ArrowStructs.isReleased(arrayStruct(), ArrowStructs.ARRAY_RELEASE)) {
        Content content = OPEN.remove(number);
        if (content != null) {
          content.end();
        }
      }
      NativeHeap.free(structs);
      Cleaner.Cleanable watched = watch;
      if (watched != null) {
        watched.clean();
      }
    }
  }

  @Override
  public String toString() {
    return "ArrowExport["
        + (closed.get() ? "closed" : "0x" + Long.toHexString(structs.address()))
        + (isReleased() ? ", released]" : "]");
  }
}
