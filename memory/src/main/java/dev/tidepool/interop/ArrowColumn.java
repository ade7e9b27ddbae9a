package dev.tidepool.interop;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.buffer.HostHold;
import dev.tidepool.runtime.buffer.ProducerEvent;
import dev.tidepool.runtime.threads.StackReserve;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A column of another library. Its data is a buffer over {@link UnifiedMemoryManager#adopt adopted}
 * memory, without a copy. The bits that mark nulls are another buffer. {@link #close()} closes
 * both. The array is released once, after the last use of both. Thread-safe.
 */
public final class ArrowColumn implements AutoCloseable {
  private final String name;
  private final String format;
  private final UnifiedBuffer<?> data;
  private final long length;
  private final @Nullable UnifiedBuffer<byte[]> validity;
  private final int validityOffset;
  private final long nullCount;

  private ArrowColumn(
      String name,
      String format,
      UnifiedBuffer<?> data,
      @Nullable UnifiedBuffer<byte[]> validity,
      int validityOffset,
      long nullCount) {
    this.name = name;
    this.format = format;
    this.data = data;
    this.length = data.length();
    this.validity = validity;
    this.validityOffset = validityOffset;
    this.nullCount = nullCount;
  }

  /** An array that was moved here. It is released when its last user ends. */
  private static final class MovedArray implements Runnable {
    private final MemorySegment struct;
    private final AtomicInteger users = new AtomicInteger(1);

    MovedArray(MemorySegment from) {
      struct = NativeHeap.allocate(ArrowStructs.ARRAY_BYTES);
      struct.copyFrom(from.asSlice(0, ArrowStructs.ARRAY_BYTES));
      from.set(JAVA_LONG, ArrowStructs.ARRAY_RELEASE, 0);
    }

    long number(int at) {
      return struct.get(JAVA_LONG, at);
    }

    MovedArray used() {
      users.incrementAndGet();
      return this;
    }

    /** Ends one use. */
    @Override
    public void run() {
      if (users.decrementAndGet() == 0) {
        try {
          ArrowStructs.release(struct, ArrowStructs.ARRAY_RELEASE);
        } finally {
          NativeHeap.free(struct);
        }
      }
    }
  }

  static ArrowColumn open(
      UnifiedMemoryManager manager, long arrayAddress, long schemaAddress, MapMode mode) {
    Objects.requireNonNull(manager, "manager");
    checkAddresses(arrayAddress, schemaAddress);
    MemorySegment from = struct(arrayAddress, ArrowStructs.ARRAY_BYTES);
    return open(manager, from, DeviceTypes.CPU, 0, schemaAddress, mode);
  }

  static ArrowColumn openDevice(
      UnifiedMemoryManager manager, long arrayAddress, long schemaAddress, MapMode mode) {
    Objects.requireNonNull(manager, "manager");
    checkAddresses(arrayAddress, schemaAddress);
    MemorySegment from = struct(arrayAddress, ArrowStructs.DEVICE_ARRAY_BYTES);
    int type = from.get(JAVA_INT, ArrowStructs.DEVICE_TYPE);
    // The pointer refers to the driver's handle.
    MemorySegment event = from.get(ADDRESS, ArrowStructs.SYNC_EVENT);
    long handle = event.address() == 0 ? 0 : event.reinterpret(8).get(JAVA_LONG_UNALIGNED, 0);
    return open(manager, from, type, handle, schemaAddress, mode);
  }

  private static ArrowColumn open(
      UnifiedMemoryManager manager,
      MemorySegment from,
      int deviceType,
      long event,
      long schemaAddress,
      MapMode mode) {
    MemorySegment schema = struct(schemaAddress, ArrowStructs.SCHEMA_BYTES);
    checkUnreleased(from, schema);
    MovedArray array = new MovedArray(from);
    try {
      return new Opening(manager, array, deviceType, event, mode).column(schema);
    } finally {
      try {
        ArrowStructs.release(schema, ArrowStructs.SCHEMA_RELEASE);
      } finally {
        array.run();
      }
    }
  }

  /** Checks that neither structure is released. If one is, releases the other and throws. */
  private static void checkUnreleased(MemorySegment array, MemorySegment schema) {
    boolean noArray = ArrowStructs.isReleased(array, ArrowStructs.ARRAY_RELEASE);
    boolean noSchema = ArrowStructs.isReleased(schema, ArrowStructs.SCHEMA_RELEASE);
    if (!noArray && !noSchema) {
      return;
    }
    String one = noArray ? "the Arrow array" : "the schema of the Arrow array";
    String other = noArray ? "its schema" : "the array";
    ArrowStructs.release(array, ArrowStructs.ARRAY_RELEASE);
    ArrowStructs.release(schema, ArrowStructs.SCHEMA_RELEASE);
    throw new IllegalArgumentException(
        noArray && noSchema
            ? "the Arrow array and its schema were released or moved before; export them again"
            : one
                + " was released or moved before, and "
                + other
                + " is released now; export both again");
  }

  /** Checks both addresses. If one is invalid, releases the structure at the other and throws. */
  private static void checkAddresses(long array, long schema) {
    // A release function that calls back into Java without enough stack would crash the virtual
    // machine.
    StackReserve.checkForTwo();
    if (isAddress(array) && isAddress(schema)) {
      return;
    }
    if (isAddress(array)) {
      ArrowStructs.release(struct(array, ArrowStructs.ARRAY_BYTES), ArrowStructs.ARRAY_RELEASE);
    }
    if (isAddress(schema)) {
      ArrowStructs.release(struct(schema, ArrowStructs.SCHEMA_BYTES), ArrowStructs.SCHEMA_RELEASE);
    }
    throw new IllegalArgumentException(
        isAddress(array)
            ? "no Arrow schema is at 0x" + Long.toHexString(schema) + "; its array is released now"
            : "no Arrow array is at 0x"
                + Long.toHexString(array)
                + (isAddress(schema) ? "; its schema is released now" : ""));
  }

  private static boolean isAddress(long address) {
    return address > 0 && address % 8 == 0;
  }

  private static MemorySegment struct(long address, long bytes) {
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  /**
   * The arguments for opening a column.
   *
   * @param event the driver's handle of the event to wait for; 0 if there is none
   */
  private record Opening(
      UnifiedMemoryManager manager, MovedArray array, int deviceType, long event, MapMode mode) {

    ArrowColumn column(MemorySegment schema) {
      String format = ArrowStructs.text(schema, ArrowStructs.FORMAT);
      String name = ArrowStructs.text(schema, ArrowStructs.NAME);
      ElementType<?> type = ArrowFormat.elementType(format);
      check(name);
      long length = array.number(ArrowStructs.LENGTH);
      long offset = array.number(ArrowStructs.OFFSET);
      MemorySegment buffers = array.struct.get(ADDRESS, ArrowStructs.BUFFERS).reinterpret(16);
      long bits = buffers.get(JAVA_LONG, 0);
      long elements = buffers.get(JAVA_LONG, 8);
      long nulls = array.number(ArrowStructs.NULL_COUNT);
      if (nulls > 0 && bits == 0) {
        throw new IllegalArgumentException(
            "the Arrow array '"
                + name
                + "' has "
                + nulls
                + " nulls, and no bits that tell which they are");
      }
      UnifiedBuffer<?> data = adopt(type, elements, type.bytes(offset), type.bytes(length), mode);
      UnifiedBuffer<byte[]> validity = null;
      try {
        if (event != 0) {
          ProducerEvent.await(data, event);
        }
        if (bits != 0 && length > 0) {
          long first = offset / 8;
          long bytes = (Math.addExact(offset, length) + 7) / 8 - first;
          validity = adopt(ElementType.BYTE, bits, first, bytes, MapMode.READ);
        }
        int shift = (int) (offset % 8);
        if (nulls < 0) {
          nulls = validity == null ? 0 : length - set(validity, shift, length);
        }
        return new ArrowColumn(name, format, data, validity, shift, nulls);
      } catch (RuntimeException | Error e) {
        data.close();
        if (validity != null) {
          validity.close();
        }
        throw e;
      }
    }

    private NativeKind kind() {
      NativeKind kind = DeviceTypes.kind(deviceType);
      if (kind == null) {
        throw new UnsupportedOperationException(
            "the Arrow array is in the memory of device type "
                + deviceType
                + ", which no accelerator has; copy it to the host first");
      }
      return kind;
    }

    private void check(String name) {
      if (array.number(ArrowStructs.DICTIONARY) != 0
          || array.number(ArrowStructs.CHILD_COUNT) != 0
          || array.number(ArrowStructs.BUFFER_COUNT) != 2) {
        throw new UnsupportedOperationException(
            "the Arrow array '"
                + name
                + "' has a dictionary, children or other than two buffers; decode it to a plain"
                + " column first");
      }
      long length = array.number(ArrowStructs.LENGTH);
      long offset = array.number(ArrowStructs.OFFSET);
      if (length < 0 || offset < 0 || array.number(ArrowStructs.BUFFERS) == 0) {
        throw new IllegalArgumentException(
            "the Arrow array '"
                + name
                + "' has length "
                + length
                + " and offset "
                + offset
                + (array.number(ArrowStructs.BUFFERS) == 0 ? ", and no buffers" : ""));
      }
    }

    /**
     * Returns a buffer over a part of one of the array's buffers, which may be null if it has no
     * bytes.
     */
    private <A> UnifiedBuffer<A> adopt(
        ElementType<A> type, long start, long from, long bytes, MapMode access) {
      NativeKind kind = kind();
      boolean pointer = kind.isPointer() && start != 0;
      NativeHandle memory =
          new NativeHandle(kind, pointer ? start + from : start, pointer ? 0 : from, bytes);
      try {
        return manager.adopt(type, memory, access, array.used());
      } catch (RuntimeException | Error e) {
        array.run();
        throw e;
      }
    }
  }

  /** Returns the number of bits that are set. */
  private static long set(UnifiedBuffer<byte[]> validity, int shift, long length) {
    HostHold hold = HostHold.of(validity, false);
    try {
      long set = 0;
      for (long i = shift; i < shift + length; i++) {
        set += hold.bytes().get(JAVA_BYTE, i / 8) >> (i % 8) & 1;
      }
      return set;
    } finally {
      hold.end();
    }
  }

  /** Returns the name in the schema; may be empty. */
  public String name() {
    return name;
  }

  /** Returns Arrow's format string of the type, such as {@code g} for doubles. */
  public String format() {
    return format;
  }

  /** Returns the number of nulls. The buffer has an undefined value in place of each. */
  public long nullCount() {
    return nullCount;
  }

  /**
   * Returns the data as a HOST buffer, or as a DEVICE buffer if it is on a device. Dates and times
   * are Arrow's integers for them; half floats are their bits.
   */
  public UnifiedBuffer<?> buffer() {
    return data;
  }

  /**
   * Like {@link #buffer()}, with an element type.
   *
   * @throws IllegalArgumentException if the elements have another type
   */
  @SuppressWarnings("unchecked") // what is checked first
  public <A> UnifiedBuffer<A> buffer(ElementType<A> type) {
    ElementType<?> own = ArrowFormat.elementType(format);
    if (!own.equals(type)) {
      throw new IllegalArgumentException(
          "the column has elements of "
              + own
              + ", not of "
              + type
              + "; take that, or view it by"
              + " as(...)");
    }
    return (UnifiedBuffer<A>) data;
  }

  /**
   * Returns the bits that are 1 for values and 0 for nulls, the lowest bit of each byte first;
   * empty if the array has none. The bit of element {@code i} is bit {@code i + validityOffset()}.
   */
  public Optional<UnifiedBuffer<byte[]>> validity() {
    return Optional.ofNullable(validity);
  }

  /** Returns the position of the first element's bit in {@link #validity()}, from 0 to 7. */
  public int validityOffset() {
    return validityOffset;
  }

  @Override
  public String toString() {
    ElementType<?> type = ArrowFormat.elementType(format);
    return type + "[" + length + "] of Arrow, " + nullCount + " nulls";
  }

  /**
   * Closes the buffers. The array is released after their last use. Idempotent.
   *
   * @throws dev.tidepool.TransferException as {@link UnifiedBuffer#close()} does
   */
  @Override
  public void close() {
    try (validity) {
      data.close();
    }
  }
}
