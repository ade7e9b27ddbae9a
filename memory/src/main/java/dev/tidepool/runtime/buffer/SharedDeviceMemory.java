package dev.tidepool.runtime.buffer;

import dev.tidepool.ElementType;
import dev.tidepool.TransferException;
import dev.tidepool.host.DescriptorExchange;
import dev.tidepool.host.SharedFolder;
import dev.tidepool.host.SharedMemory;
import dev.tidepool.runtime.order.ManagerContext;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.ShareableBlock;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A device's memory that processes share by a name.
 *
 * <p>A small shared file of the host stands for it: its lock tells who uses the name, its header of
 * what type the elements are, and its elements are a note that says how many there are and on what
 * hardware, with the device's ticket to them. The memory itself comes as a descriptor, from any
 * process that has it. The note is published last, when there is something to be had.
 *
 * <p>Safe for use by any thread.
 */
final class SharedDeviceMemory implements AutoCloseable {
  /** Sets the notes apart from the shared buffers of the host. */
  private static final String SUFFIX = ".device";

  private static final VarHandle NUMBER = ValueLayout.JAVA_LONG.varHandle();
  private static final long LENGTH_AT = 0;
  private static final long HARDWARE_AT = 8;
  private static final long PUBLISHED_AT = 24;
  private static final long TICKET_AT = 32;
  private static final long TICKET_BYTES = 160;
  private static final long NOTE_BYTES = TICKET_AT + TICKET_BYTES + 1;
  private static final long PUBLISHED = 0x5055424C49534845L;
  private static final long PATIENCE_NANOS = 5_000_000_000L;
  private static final long PAUSE_NANOS = 1_000_000;

  private final SharedMemory note;
  private final DescriptorExchange offer;
  private final Block block;
  private final long length;
  private final AtomicBoolean closed = new AtomicBoolean();

  private SharedDeviceMemory(
      SharedMemory note, DescriptorExchange offer, Block block, long length) {
    this.note = note;
    this.offer = offer;
    this.block = block;
    this.length = length;
  }

  /**
   * New memory of a manager's device, which others find once it is {@link #publish}ed.
   *
   * @param allocator allocates the bytes on the device
   */
  static SharedDeviceMemory create(
      ManagerContext context,
      LongFunction<ShareableBlock> allocator,
      SharedFolder folder,
      ElementType<?> type,
      long length,
      String name) {
    Device device = context.device();
    requireSupport(device);
    long bytes = bytes(type, length);
    SharedMemory note = SharedMemory.create(folder, type, elementsOf(type), note(name));
    try {
      ShareableBlock made = allocator.apply(bytes);
      DescriptorExchange offer = offered(folder, name, made.block(), made.descriptor());
      MemorySegment words = note.segment();
      UUID hardware = hardware(device);
      NUMBER.set(words, LENGTH_AT, length);
      NUMBER.set(words, HARDWARE_AT, hardware.getMostSignificantBits());
      NUMBER.set(words, HARDWARE_AT + Long.BYTES, hardware.getLeastSignificantBits());
      words.setString(TICKET_AT, made.ticket(), StandardCharsets.US_ASCII);
      return new SharedDeviceMemory(note, offer, made.block(), length);
    } catch (RuntimeException | Error e) {
      note.close();
      throw e;
    }
  }

  /** Lets others find it. */
  void publish() {
    NUMBER.setRelease(note.segment(), PUBLISHED_AT, PUBLISHED);
  }

  /** The memory that others have under that name. */
  static SharedDeviceMemory open(
      ManagerContext context, SharedFolder folder, ElementType<?> type, String name) {
    Device device = context.device();
    requireSupport(device);
    SharedMemory note = SharedMemory.open(folder, type, note(name));
    try {
      long length = lengthIn(note.segment(), context, name);
      int descriptor = DescriptorExchange.obtain(folder, name);
      Block block;
      try {
        String ticket = note.segment().getString(TICKET_AT, StandardCharsets.US_ASCII);
        block = device.importShared(descriptor, ticket, bytes(type, length));
      } catch (RuntimeException | Error e) {
        DescriptorExchange.discard(descriptor);
        throw e;
      }
      return new SharedDeviceMemory(note, offered(folder, name, block, descriptor), block, length);
    } catch (RuntimeException | Error e) {
      note.close();
      throw e;
    }
  }

  private static DescriptorExchange offered(
      SharedFolder folder, String name, Block block, int descriptor) {
    try {
      return DescriptorExchange.offer(folder, name, descriptor);
    } catch (RuntimeException | Error e) {
      freeQuietly(block, e);
      throw e;
    }
  }

  /** The name of the note, which the folder checks like any other. */
  private static String note(String name) {
    if (name.isEmpty()) {
      throw new IllegalArgumentException("a shared buffer has a name of at least one character");
    }
    return name + SUFFIX;
  }

  private static void requireSupport(Device device) {
    if (device.hardwareId().isEmpty() || !DescriptorExchange.isSupported()) {
      throw new UnsupportedOperationException(
          device.info().id()
              + " cannot share its memory with other processes; share memory of the host, with"
              + " MemoryLocation.HOST");
    }
  }

  private static long lengthIn(MemorySegment words, ManagerContext context, String name) {
    long start = System.nanoTime();
    while ((long) NUMBER.getAcquire(words, PUBLISHED_AT) != PUBLISHED) {
      if (System.nanoTime() - start > PATIENCE_NANOS) {
        throw new TransferException(
            "the shared buffer "
                + name
                + " is still being made after "
                + PATIENCE_NANOS / 1_000_000_000L
                + " seconds, or who made it was killed; close it everywhere and create it again",
            null);
      }
      // Whoever closes the manager waits for this.
      context.checkOpen();
      LockSupport.parkNanos(PAUSE_NANOS);
    }
    Device device = context.device();
    UUID there =
        new UUID(
            (long) NUMBER.get(words, HARDWARE_AT),
            (long) NUMBER.get(words, HARDWARE_AT + Long.BYTES));
    if (!there.equals(hardware(device))) {
      throw new IllegalArgumentException(
          "the shared buffer "
              + name
              + " is memory of another device than "
              + device.info().id()
              + "; open it with the manager of that device");
    }
    return (long) NUMBER.get(words, LENGTH_AT);
  }

  private static UUID hardware(Device device) {
    return UUID.nameUUIDFromBytes(device.hardwareId().getBytes(StandardCharsets.UTF_8));
  }

  /** So many elements hold the note. */
  private static long elementsOf(ElementType<?> type) {
    return Math.ceilDiv(NOTE_BYTES, type.byteSize());
  }

  /** A block has at least one byte. */
  private static long bytes(ElementType<?> type, long length) {
    return Math.max(1, type.bytes(length));
  }

  Block block() {
    return block;
  }

  /** Elements. */
  long length() {
    return length;
  }

  /** Ends this process's use; nothing uses the block any more. Idempotent, and throws nothing. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      offer.close();
      freeQuietly(block, null);
      note.close();
    }
  }

  private static void freeQuietly(Block block, @Nullable Throwable cause) {
    try {
      block.free();
    } catch (RuntimeException e) {
      if (cause != null) {
        cause.addSuppressed(e);
      }
      System.getLogger(SharedDeviceMemory.class.getName())
          .log(System.Logger.Level.WARNING, "shared device memory could not be freed", e);
    }
  }
}
