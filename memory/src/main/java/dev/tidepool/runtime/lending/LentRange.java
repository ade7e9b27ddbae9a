package dev.tidepool.runtime.lending;

import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.Coherence;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.NativeMemory;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A range of a storage that is lent to native code, and its handle. Used by one thread at a time:
 * the one that begins the lending, then the one that ends it, then the one that settles it.
 */
final class LentRange {
  private final Storage storage;
  private final long from;
  private final long to;
  private final boolean reads;
  private final boolean writes;
  private final @Nullable NativeKind kind;
  private final boolean toHost;

  private @Nullable NativeMemory memory;
  private int revocations;
  // Whether a device write is not settled, and whether the host's bytes are newest if it fails.
  private boolean expected;
  private boolean revocable;

  /**
   * Creates a range that is not lent yet.
   *
   * @param toHost whether native code gets a host pointer
   */
  LentRange(BufferHandle<?> buffer, NativeUse use, boolean toHost) {
    this.storage = buffer.storage();
    this.from = buffer.from();
    this.to = buffer.to();
    this.reads = use.reads();
    this.writes = use.writes();
    this.kind = use.kind();
    this.toHost = toHost;
  }

  Storage storage() {
    return storage;
  }

  boolean writes() {
    return writes;
  }

  boolean toHost() {
    return toHost;
  }

  long bytes() {
    return to - from;
  }

  ResourceAccess access() {
    return ResourceAccess.lending(storage, writes);
  }

  /** Returns whether the device must allocate memory for the range. */
  boolean lacksMemory() {
    return !toHost && coherence().lacksDeviceMemory();
  }

  void provideMemory() {
    coherence().provideDeviceMemory();
  }

  /** Brings the bytes to the memory that native code uses, and creates the handle. */
  void prepare(Device device) {
    Coherence coherence = coherence();
    if (toHost) {
      memory =
          NativeMemory.of(
              NativeHandle.of(
                  (writes
                          ? coherence.hostBeforeWrite(from, to, !reads)
                          : coherence.hostForRead(from, to))
                      .asSlice(from, to - from)));
      return;
    }
    revocations = coherence.state().revocations();
    Block block =
        writes ? coherence.deviceForWrite(from, to, !reads) : coherence.deviceForRead(from, to);
    memory = device.lend(block.whole(), block.start() + from, to - from, kind);
  }

  /** Marks host memory as written, because native code may write it from now on. */
  void begin() {
    if (writes && toHost) {
      coherence().state().hostWritten(from, to);
    }
  }

  NativeHandle handle() {
    return Objects.requireNonNull(memory, "it is lent").handle();
  }

  /** Releases the handle, if there is one. */
  void release() {
    NativeMemory made = memory;
    memory = null;
    if (made != null) {
      made.release().run();
    }
  }

  /** Marks device memory as written, because native code has submitted its commands. */
  void submitted() {
    if (writes && !toHost) {
      expected = true;
      revocable = coherence().state().deviceWillWrite(from, to, revocations);
    }
  }

  /** Settles the write after the commands have ended. A second call has no effect. */
  void settled(boolean failed) {
    if (expected) {
      expected = false;
      coherence().state().deviceWriteSettled(from, to, failed && revocable);
    }
  }

  private Coherence coherence() {
    return storage.coherence();
  }
}
