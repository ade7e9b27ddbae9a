package dev.tidepool.host;

import dev.tidepool.ElementType;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TransferException;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Elements that several processes of one user share, found by a name in a {@link SharedFolder}.
 *
 * {@snippet :
 * SharedFolder folder = SharedFolder.of(Optional.empty());
 * try (SharedMemory counters = SharedMemory.create(folder, ElementType.LONG, 100, "counters")) {
 *   counters.segment().setAtIndex(ValueLayout.JAVA_LONG, 0, 1L);
 * }
 * }
 *
 * <p>The last user's {@link #close()} deletes the file behind it. What a killed process leaves is
 * known by its released lock, and deleted at the next {@code create} or {@code open} of any name,
 * by any process. Users in one process share one mapping, which ends with the last of them.
 *
 * <p>Others of the same user can shorten the file. Then the bytes vanish: copies and plain access
 * fail with an {@link InternalError}, vector instructions and native code end the process. {@link
 * MemoryOperations} and buffers take care of that; {@link MemorySegment#mismatch} does not.
 *
 * <p>Thread-safe; the processes agree among themselves on which of them writes where and when.
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
   * New elements, all zero, aligned to 4 KiB. Their memory is taken now, not when it is touched.
   *
   * @param name letters, digits, {@code .}, {@code _} and {@code -}, at most 128, without {@code
   *     ..}
   * @throws IllegalArgumentException if it is no such name, or the length is negative
   * @throws OutOfDeviceMemoryException if there is no room in the folder
   * @throws TransferException if the name is in use (its cause is a {@link
   *     FileAlreadyExistsException}), or the file cannot be made
   */
  public static SharedMemory create(
      SharedFolder folder, ElementType<?> type, long length, String name) {
    return over(SharedFileTable.create(folder, name, SharedHeader.of(type, length)));
  }

  /**
   * Elements that another user, in this process or another, has created and not yet closed.
   *
   * @throws IllegalArgumentException if the name cannot be one, or the elements are of another type
   * @throws TransferException if no process uses that name (its cause is a {@link
   *     NoSuchFileException}), or the file is another user's, damaged, or another version's
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

  /** Ends this use; idempotent, and throws nothing. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      SharedFileTable.release(entry);
    }
  }
}
