package dev.tidepool.cuda;

import dev.tidepool.ElementType;
import dev.tidepool.TransferException;
import dev.tidepool.cuda.ipc.DescriptorExchange;
import dev.tidepool.host.SharedFolder;
import dev.tidepool.host.SharedMemory;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.DeviceSharing;
import dev.tidepool.spi.SharedBlock;
import dev.tidepool.spi.support.Closing;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Shares memory of one device by names.
 *
 * <p>Each name has a note: a small shared file of the host. The note's lock shows which processes
 * use the name, and its header contains the type of the elements. Its content is the number of
 * elements, the hardware, and the ticket that the driver may need to open the memory. Any process
 * that has the memory passes it on as a file descriptor ({@link DescriptorExchange}). The creator
 * marks the note as published last, when everything else is in place.
 *
 * <p>Safe for use by any thread.
 */
final class CudaSharing implements DeviceSharing {
  /** Distinguishes the notes from shared buffers of the host. */
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

  private final CudaDevice device;
  private final UUID hardware;

  CudaSharing(CudaDevice device) {
    this.device = device;
    this.hardware =
        UUID.nameUUIDFromBytes(device.properties().uuid().getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public SharedBlock create(Path folder, String name, ElementType<?> type, long length) {
    device.requireOpen();
    String noteName = noteName(name);
    // Allocated before the note exists, so that a process that opens the name need not wait.
    DeviceMemory.Shareable made = device.blocks().allocateShareable(blockBytes(type, length));
    SharedMemory note;
    try {
      note = SharedMemory.create(new SharedFolder(folder), type, noteElements(type), noteName);
    } catch (RuntimeException | Error e) {
      DescriptorExchange.discard(made.descriptor());
      freeQuietly(made.block());
      throw e;
    }
    MemorySegment words = note.segment();
    NUMBER.set(words, LENGTH_AT, length);
    NUMBER.set(words, HARDWARE_AT, hardware.getMostSignificantBits());
    NUMBER.set(words, HARDWARE_AT + Long.BYTES, hardware.getLeastSignificantBits());
    words.setString(TICKET_AT, made.ticket(), StandardCharsets.US_ASCII);
    Use use = Use.offering(folder, name, note, made.block(), made.descriptor(), length);
    NUMBER.setRelease(words, PUBLISHED_AT, PUBLISHED);
    return use;
  }

  @Override
  public SharedBlock open(Path folder, String name, ElementType<?> type, Runnable whileWaiting) {
    device.requireOpen();
    SharedMemory note = SharedMemory.open(new SharedFolder(folder), type, noteName(name));
    long length;
    int descriptor;
    CudaBlock block;
    try {
      length = publishedLength(note.segment(), name, whileWaiting);
      descriptor = DescriptorExchange.obtain(folder, name);
      try {
        String ticket = note.segment().getString(TICKET_AT, StandardCharsets.US_ASCII);
        block = device.blocks().importShared(descriptor, ticket, blockBytes(type, length));
      } catch (RuntimeException | Error e) {
        DescriptorExchange.discard(descriptor);
        throw e;
      }
    } catch (RuntimeException | Error e) {
      note.close();
      throw e;
    }
    return Use.offering(folder, name, note, block, descriptor, length);
  }

  private static String noteName(String name) {
    if (name.isEmpty()) {
      throw new IllegalArgumentException("a shared buffer has a name of at least one character");
    }
    return name + SUFFIX;
  }

  /** Waits until the note is published; returns its number of elements. */
  private long publishedLength(MemorySegment words, String name, Runnable whileWaiting) {
    long start = System.nanoTime();
    while ((long) NUMBER.getAcquire(words, PUBLISHED_AT) != PUBLISHED) {
      if (System.nanoTime() - start > PATIENCE_NANOS) {
        throw new TransferException(
            "the shared buffer "
                + name
                + " is still being made after "
                + PATIENCE_NANOS / 1_000_000_000L
                + " seconds, or the process that made it was killed; close it everywhere and"
                + " create it again",
            null);
      }
      whileWaiting.run();
      LockSupport.parkNanos(PAUSE_NANOS);
    }
    UUID there =
        new UUID(
            (long) NUMBER.get(words, HARDWARE_AT),
            (long) NUMBER.get(words, HARDWARE_AT + Long.BYTES));
    if (!there.equals(hardware)) {
      throw new IllegalArgumentException(
          "the shared buffer "
              + name
              + " is memory of another device than "
              + device.info().id()
              + "; open it with the manager of that device");
    }
    return (long) NUMBER.get(words, LENGTH_AT);
  }

  /** Returns the number of elements that a note takes. */
  private static long noteElements(ElementType<?> type) {
    return Math.ceilDiv(NOTE_BYTES, type.byteSize());
  }

  /** Returns the bytes of a block, which has at least one byte. */
  private static long blockBytes(ElementType<?> type, long length) {
    return Math.max(1, type.bytes(length));
  }

  private static void freeQuietly(CudaBlock block) {
    Closing.surviving(block::free);
  }

  /** This process's use of shared memory, which offers its descriptor to other processes. */
  private static final class Use implements SharedBlock {
    private final SharedMemory note;
    private final DescriptorExchange offer;
    private final CudaBlock block;
    private final long length;
    private final AtomicBoolean closed = new AtomicBoolean();

    private Use(SharedMemory note, DescriptorExchange offer, CudaBlock block, long length) {
      this.note = note;
      this.offer = offer;
      this.block = block;
      this.length = length;
    }

    /** Offers the descriptor; if that fails, closes everything that was passed. */
    static Use offering(
        Path folder, String name, SharedMemory note, CudaBlock block, int descriptor, long length) {
      try {
        DescriptorExchange offer = DescriptorExchange.offer(folder, name, descriptor);
        return new Use(note, offer, block, length);
      } catch (RuntimeException | Error e) {
        freeQuietly(block);
        note.close();
        throw e;
      }
    }

    @Override
    public Block block() {
      return block;
    }

    @Override
    public long length() {
      return length;
    }

    @Override
    public void close() {
      if (closed.compareAndSet(false, true)) {
        offer.close();
        freeQuietly(block);
        note.close();
      }
    }
  }
}
