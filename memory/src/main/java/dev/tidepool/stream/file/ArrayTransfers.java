package dev.tidepool.stream.file;

import dev.tidepool.host.system.LibC;
import dev.tidepool.spi.support.UseCount;
import java.lang.Runtime.Version;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Reads a file directly into Java arrays, or writes it from them, by critical calls. Such a call
 * makes no further copy, but no safepoint is reached until it returns: while a slow disk answers,
 * no garbage is collected, and threads may wait. So this is for processes that do little else.
 *
 * <p>Thread-safe. The descriptor is closed after the last transfer.
 */
final class ArrayTransfers implements AutoCloseable {
  /** A copy of fewer bytes costs less than a critical call. */
  private static final long SMALLEST = 64 << 10;

  /** Longer calls would delay safepoints for longer. */
  private static final long LARGEST = 1 << 20;

  private final int descriptor;
  private final boolean writes;
  private final UseCount users = new UseCount("a file");
  private final AtomicBoolean closed = new AtomicBoolean();

  private ArrayTransfers(int descriptor, boolean writes) {
    this.descriptor = descriptor;
    this.writes = writes;
  }

  /**
   * Returns whether the platform has the calls, and the virtual machine leaves arrays where they
   * are.
   */
  static boolean areSafe() {
    return keepsArrays(Runtime.version()) && LibC.hasArrayTransfers();
  }

  /**
   * G1 may move the array of a critical call, up to the version that names JDK-8377811 as fixed.
   */
  static boolean keepsArrays(Version version) {
    return version.feature() >= 27
        || (version.feature() == 25
            && version.compareToIgnoreOptional(Version.parse("25.0.3")) >= 0);
  }

  /** Opens an existing file once more; null if the system refuses that. */
  static @Nullable ArrayTransfers open(Path path, boolean writes) {
    int descriptor = LibC.openFile(path.toString(), writes);
    return descriptor < 0 ? null : new ArrayTransfers(descriptor, writes);
  }

  /**
   * Reads the first bytes of a segment, or writes them.
   *
   * @return how many bytes; if they are fewer than the segment's, the system refused the next ones,
   *     and only another call says why
   */
  long transfer(long position, MemorySegment array) {
    if (array.byteSize() < SMALLEST) {
      return 0;
    }
    users.enter();
    try {
      long done = 0;
      while (done < array.byteSize()) {
        MemorySegment part = array.asSlice(done, Math.min(LARGEST, array.byteSize() - done));
        long count =
            writes
                ? LibC.writeFrom(part, descriptor, position + done)
                : LibC.readInto(part, descriptor, position + done);
        if (count <= 0) {
          break;
        }
        done += count;
      }
      return done;
    } finally {
      leave();
    }
  }

  private void leave() {
    if (users.leave()) {
      // The bytes are in the system's cache; other calls report errors of the disk.
      var _ = LibC.closeFile(descriptor);
    }
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      leave();
    }
  }
}
