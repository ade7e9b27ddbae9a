package dev.tidepool.stream.file;

import dev.tidepool.TransferException;
import dev.tidepool.codec.ByteSource;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.spi.support.Uninterruptibly;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Positional reads and writes of whole segments, by any number of threads.
 *
 * <p>A {@link FileChannel} closes for all threads when one is interrupted in it. In this class, an
 * interrupt stays set and affects no other thread: the thread's interrupt status is cleared during
 * the call, and a channel that was closed nevertheless is opened again if the path still names the
 * same file.
 *
 * <p>Locking: {@link #channel} and {@link #closed} change under this object's monitor; transfers
 * hold no lock.
 */
public final class PositionalFile implements ByteSource {
  // The operating system moves at most 2 GiB at once, a ByteBuffer's view has 31 bits.
  private static final int LARGEST_TRANSFER = 1 << 30;
  private static final int HEAP_BLOCK = 256 << 10;

  private final Path path;
  private final OpenOption access;
  private final @Nullable Object fileKey;
  private volatile FileChannel channel;
  private volatile @Nullable ArrayTransfers arrayTransfers;
  private boolean closed;

  private PositionalFile(Path path, OpenOption access, FileChannel channel) throws IOException {
    this.path = path;
    this.access = access;
    this.channel = channel;
    this.fileKey = keyOf(path);
  }

  /** Opens an existing file for reads. */
  public static PositionalFile open(Path path) throws IOException {
    return opened(path, StandardOpenOption.READ, FileChannel.open(path, StandardOpenOption.READ));
  }

  /** Creates an object that reads an open file. */
  @FunctionalInterface
  public interface Opening<T> {
    T over(PositionalFile file) throws IOException;
  }

  /**
   * Opens an existing file, and creates an object that reads it. Closes the file if that fails.
   *
   * @throws TransferException if it is no regular file, or cannot be opened or read
   */
  public static <T> T open(Path path, Opening<T> opening) {
    if (Files.exists(path) && !Files.isRegularFile(path)) {
      throw new TransferException(
          path + " is no regular file: only files can be read at positions", null);
    }
    try {
      PositionalFile file = open(path);
      try {
        return opening.over(file);
      } catch (IOException | RuntimeException | Error e) {
        file.close();
        throw e;
      }
    } catch (NoSuchFileException e) {
      throw FileErrors.missing(path, e);
    } catch (IOException e) {
      throw FileErrors.failed("read", path, e);
    }
  }

  /**
   * Creates a new file for writes; fails if the path exists.
   *
   * @param attributes the attributes of the new file
   */
  public static PositionalFile create(Path path, FileAttribute<?>... attributes)
      throws IOException {
    Set<OpenOption> options = Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);
    return opened(path, StandardOpenOption.WRITE, FileChannel.open(path, options, attributes));
  }

  /** Opens an existing file for writes; fails if the path is a symbolic link. */
  public static PositionalFile update(Path path) throws IOException {
    return opened(
        path,
        StandardOpenOption.WRITE,
        FileChannel.open(path, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS));
  }

  private static PositionalFile opened(Path path, OpenOption access, FileChannel channel)
      throws IOException {
    try {
      return new PositionalFile(path, access, channel);
    } catch (IOException | RuntimeException | Error e) {
      channel.close();
      throw e;
    }
  }

  /**
   * Lets Java arrays be read and written by critical calls, if that is safe here. Such calls make
   * no copy, but each of them delays safepoints until the disk has answered.
   */
  public synchronized void allowCriticalCalls() throws IOException {
    // The system knows no path of another file system, such as that of a zip file.
    if (closed
        || arrayTransfers != null
        || !path.getFileSystem().equals(FileSystems.getDefault())
        || !ArrayTransfers.areSafe()) {
      return;
    }
    ArrayTransfers opened = ArrayTransfers.open(path, access == StandardOpenOption.WRITE);
    if (opened == null) {
      return;
    }
    try {
      if (Objects.equals(fileKey, keyOf(path))) {
        arrayTransfers = opened;
      }
    } finally {
      if (arrayTransfers == null) {
        opened.close();
      }
    }
  }

  /** Returns whether Java arrays are read and written without a copy. */
  public boolean makesCriticalCalls() {
    return arrayTransfers != null;
  }

  private static @Nullable Object keyOf(Path path) throws IOException {
    return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
  }

  /** Returns the current size in bytes. */
  @Override
  public long size() throws IOException {
    return Files.size(path);
  }

  /** Waits until everything written so far would survive a power failure. */
  public void force() throws IOException {
    Uninterruptibly.<@Nullable Void, IOException>shielded(
        () -> {
          channel.force(false);
          return null;
        });
  }

  /**
   * Fills the segment with the bytes from {@code position} on.
   *
   * @throws EOFException if the file ends before the segment is full
   */
  @Override
  public void read(long position, MemorySegment destination) throws IOException {
    move(position, destination, PositionalFile::readSome, false);
  }

  /** Writes all bytes of the segment from {@code position} on. */
  public void write(long position, MemorySegment source) throws IOException {
    move(position, source, FileChannel::write, true);
  }

  private void move(long position, MemorySegment segment, Transfer transfer, boolean writes)
      throws IOException {
    if (segment.isNative()) {
      transfer(position, segment, transfer);
      return;
    }
    ArrayTransfers arrays = arrayTransfers;
    // The bytes that were transferred without a copy.
    long start = arrays == null ? 0 : arrays.transfer(position, segment);
    long end = segment.byteSize();
    if (start == end) {
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment block = arena.allocate(Math.min(HEAP_BLOCK, end - start));
      for (long done = start; done < end; done += block.byteSize()) {
        MemorySegment part = block.asSlice(0, Math.min(block.byteSize(), end - done));
        if (writes) {
          MemorySegment.copy(segment, done, part, 0, part.byteSize());
        }
        transfer(position + done, part, transfer);
        if (!writes) {
          MemorySegment.copy(part, 0, segment, done, part.byteSize());
        }
      }
    }
  }

  private static int readSome(FileChannel channel, ByteBuffer target, long position)
      throws IOException {
    int count = channel.read(target, position);
    if (count < 0) {
      throw new EOFException("the file ends at byte " + channel.size());
    }
    return count;
  }

  @FunctionalInterface
  private interface Transfer {
    int some(FileChannel channel, ByteBuffer buffer, long position) throws IOException;
  }

  private void transfer(long position, MemorySegment segment, Transfer transfer)
      throws IOException {
    boolean interrupted = Thread.interrupted();
    try {
      long done = 0;
      while (done < segment.byteSize()) {
        long length = Math.min(segment.byteSize() - done, LARGEST_TRANSFER);
        ByteBuffer buffer = segment.asSlice(done, length).asByteBuffer();
        FileChannel current = channel;
        try {
          done += transfer.some(current, buffer, position + done);
        } catch (ClosedChannelException e) {
          interrupted |= Thread.interrupted();
          reopen(e);
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private synchronized void reopen(ClosedChannelException cause) throws IOException {
    if (closed) {
      throw cause;
    }
    if (channel.isOpen()) {
      return; // Another thread has opened it.
    }
    FileChannel fresh = FileChannel.open(path, access);
    boolean isSame = false;
    try {
      isSame = Objects.equals(fileKey, keyOf(path));
    } finally {
      if (!isSame) {
        fresh.close();
      }
    }
    if (!isSame) {
      throw new IOException("the file was replaced by another one", cause);
    }
    channel = fresh;
  }

  /** Closes the file. Running transfers fail with a {@link ClosedChannelException}. Idempotent. */
  @Override
  public synchronized void close() throws IOException {
    closed = true;
    ArrayTransfers transfers = arrayTransfers;
    if (transfers != null) {
      transfers.close();
      arrayTransfers = null;
    }
    channel.close();
  }
}
