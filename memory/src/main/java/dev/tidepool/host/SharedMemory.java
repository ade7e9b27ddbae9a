package dev.tidepool.host;

import dev.tidepool.ByteSize;
import dev.tidepool.ElementType;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TransferException;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Elements that several processes of one user share, under a name in a {@link SharedFolder}.
 *
 * {@snippet :
 * SharedFolder folder = SharedFolder.of(Optional.empty());
 * try (SharedMemory counters = SharedMemory.create(folder, ElementType.LONG, 100, "counters")) {
 *   counters.segment().setAtIndex(ValueLayout.JAVA_LONG, 0, 1L);
 * }
 * }
 *
 * <p>The last user's {@link #close()} deletes the file. The file of a killed process has no lock
 * any more. It is deleted by the next {@code create} or {@code open} of any name, by any process.
 * Users in one process share one mapping, which ends with the last of them.
 *
 * <p>Other processes of the same user can truncate the file. The bytes then vanish: copies and
 * plain access fail with an {@link InternalError}, but vector instructions and native code end the
 * process. {@link MemoryOperations} and buffers handle this; {@link MemorySegment#mismatch} does
 * not.
 *
 * <p>Thread-safe. The processes must coordinate their access to the elements.
 */
public final class SharedMemory implements AutoCloseable {
  private final SharedFileTable.Entry entry;
  private final MemorySegment segment;
  private final AtomicBoolean closed = new AtomicBoolean();

  private SharedMemory(SharedFileTable.Entry entry) {
    this.entry = entry;
    this.segment = SharedFileTable.fileOf(entry).elements();
  }

  /**
   * Creates elements that are all zero and aligned to 4 KiB. Their memory is allocated now, not
   * when it is first touched.
   *
   * @param name letters, digits, {@code .}, {@code _} and {@code -}, at most 128, without {@code
   *     ..}
   * @throws IllegalArgumentException if the name is invalid, or the length is negative
   * @throws OutOfDeviceMemoryException if there is no room in the folder
   * @throws TransferException if the name is in use (its cause is a {@link
   *     FileAlreadyExistsException}), or the file cannot be created
   */
  public static SharedMemory create(
      SharedFolder folder, ElementType<?> type, long length, String name) {
    return over(SharedFileTable.create(folder, name, SharedHeader.of(type, length)));
  }

  /**
   * Opens elements that another user, in this process or another, has created and not yet closed.
   *
   * @throws IllegalArgumentException if the name is invalid, or the elements have another type
   * @throws TransferException if no process uses that name (its cause is a {@link
   *     NoSuchFileException}), or the file belongs to another user, is damaged, or has another
   *     version
   */
  public static SharedMemory open(SharedFolder folder, ElementType<?> type, String name) {
    return over(SharedFileTable.open(folder, name, type));
  }

  private static SharedMemory over(SharedFileTable.Entry entry) {
    try {
      return new SharedMemory(entry);
    } catch (OutOfMemoryError e) {
      SharedFileTable.release(entry);
      throw e;
    }
  }

  /** Returns the elements. The segment ends when the last user in this process closes. */
  public MemorySegment segment() {
    return segment;
  }

  /** Ends this use. Idempotent; never throws. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      SharedFileTable.release(entry);
    }
  }

  @Override
  public String toString() {
    return "SharedMemory["
        + ByteSize.format(segment.byteSize())
        + (closed.get() ? ", closed]" : "]");
  }
}
