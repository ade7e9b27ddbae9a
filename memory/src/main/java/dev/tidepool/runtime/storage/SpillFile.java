package dev.tidepool.runtime.storage;

import dev.tidepool.ByteSize;
import dev.tidepool.TransferException;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.spi.support.FilePermissions;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.StampedLock;
import org.jspecify.annotations.Nullable;

/**
 * The file to which a manager moves idle bytes when memory is short, in a directory that the user
 * names. Counts the spills and the returns.
 *
 * <p><b>Deletion.</b> The file is deleted when it is opened, and its space is freed when it is
 * closed or its process ends in any way. If a system cannot delete an open file, the file is
 * deleted when it is closed. A killed process leaves its file there without a lock; the next
 * manager that names the directory deletes it. Only its owner may open the file.
 *
 * <p><b>Threads.</b> Only threads of this class read, write and cut the file: an interrupt of
 * another thread would close the channel, and the deleted file with it. The calling thread waits
 * for them; a virtual thread is parked. They wait only for the disk and for a cut. The monitor
 * guards {@code space} and the sizes; no thread waits for the disk while it holds the monitor. The
 * cut has a lock of its own, which writes share: a write to a part that was reserved during a cut
 * waits for it.
 */
public final class SpillFile implements AutoCloseable {
  private static final long RETRY_NANOS = 1_000_000;

  /** Bytes that one call moves: enough for any disk, and far below the limit of a call. */
  private static final int STEP = 8 << 20;

  private static final long CUT_FROM = 64L << 20;
  private static final int THREADS = 4;
  private static final long IDLE_SECONDS = 10;
  private static final String PREFIX = "tidepool-spill-";
  private static final String SUFFIX = ".tmp";

  /**
   * Names of this process's files, which a sweep must not open: closing one again would drop its
   * lock. Unlike paths, the names are unique.
   */
  private static final Set<Path> OWN = ConcurrentHashMap.newKeySet();

  private static final AtomicInteger NUMBERS = new AtomicInteger();

  private final Path path;
  private final FileChannel channel;
  private final ThreadPoolExecutor threads;
  private final LongAdder spills = new LongAdder();
  private final LongAdder returns = new LongAdder();
  // Unlike a ReentrantReadWriteLock, it stays usable if the heap is full.
  private final StampedLock cutting = new StampedLock();

  // Guarded by this.
  private final ExtentAllocator space = new ExtentAllocator();
  private long highest;
  private long usedBytes;
  // Dropped extents whose space is still allocated, because the heap was full.
  private @Nullable Extent dropped;

  /** Creates a spill file over an open channel. */
  SpillFile(Path path, FileChannel channel) {
    this.path = path;
    this.channel = channel;
    this.threads =
        new ThreadPoolExecutor(
            THREADS,
            THREADS,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().daemon().name("tidepool-spill-", 0).factory());
    threads.allowCoreThreadTimeOut(true);
  }

  /**
   * Creates a file, and deletes those that killed processes left.
   *
   * @throws TransferException if the directory is missing, or no file can be created there
   */
  public static SpillFile open(Path directory) {
    try {
      sweep(directory);
      Path path =
          directory
              .toAbsolutePath()
              .resolve(
                  PREFIX
                      + ProcessHandle.current().pid()
                      + "-"
                      + Long.toHexString(System.nanoTime())
                      + "-"
                      + NUMBERS.getAndIncrement()
                      + SUFFIX);
      OWN.add(path.getFileName());
      try {
        return create(path);
      } catch (IOException | RuntimeException | Error e) {
        OWN.remove(path.getFileName());
        throw e;
      }
    } catch (IOException e) {
      throw new TransferException(
          "the spill-directory "
              + directory
              + " cannot be used: "
              + reason(directory, e)
              + "; name an existing directory that you may write to",
          e);
    }
  }

  /** Returns the reason of a failure. Some directories, such as /proc, report a missing file. */
  private static String reason(Path directory, IOException e) {
    return e instanceof NoSuchFileException && Files.isDirectory(directory)
        ? "no file can be made in it"
        : FileErrors.reason(e);
  }

  private static SpillFile create(Path path) throws IOException {
    Set<OpenOption> options =
        Set.of(
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            StandardOpenOption.CREATE_NEW,
            StandardOpenOption.DELETE_ON_CLOSE);
    FileChannel channel = FileChannel.open(path, options, FilePermissions.ownerOnly(path));
    try {
      lock(path, channel);
      return new SpillFile(path, channel);
    } catch (RuntimeException | Error e) {
      channel.close();
      throw e;
    }
  }

  private static void lock(Path path, FileChannel channel) {
    try {
      var _ = channel.tryLock();
    } catch (IOException e) {
      // The file system has no locks. A sweep may delete the file; the channel stays usable.
      FailureLog.debug(path + " cannot be locked; it is used without", e);
    }
  }

  /** Deletes files whose processes have ended and hold no lock any more. */
  private static void sweep(Path directory) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, PREFIX + "*" + SUFFIX)) {
      for (Path file : files) {
        if (!OWN.contains(file.getFileName())
            && Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
          deleteIfStale(file);
        }
      }
    }
  }

  private static void deleteIfStale(Path file) {
    try (FileChannel stale =
            FileChannel.open(file, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
        FileLock lock = stale.tryLock()) {
      if (lock != null) {
        Files.deleteIfExists(file);
      }
    } catch (IOException | OverlappingFileLockException e) {
      FailureLog.debug("the spill file " + file + " is left to others", e);
    }
  }

  /** Returns the bytes of buffers that are in the file now. */
  public synchronized long spilledBytes() {
    return usedBytes;
  }

  /** Counts a buffer whose bytes are in the file now. */
  void spilled() {
    spills.increment();
  }

  /** Counts a buffer whose bytes are in memory again. */
  void broughtBack() {
    returns.increment();
  }

  public long spills() {
    return spills.sum();
  }

  public long returns() {
    return returns.sum();
  }

  @Override
  public String toString() {
    return ByteSize.format(spilledBytes()) + " in " + directory();
  }

  private Path directory() {
    return path.resolveSibling("").normalize();
  }

  /** Reserves a part of the file, which the caller must drop. */
  Extent reserve(long bytes) {
    Extent extent = new Extent(bytes);
    synchronized (this) {
      giveBackDropped();
      extent.start = space.take(bytes);
      highest = Math.max(highest, space.end());
      usedBytes += bytes;
    }
    return extent;
  }

  /** A part of the file, for the bytes of one storage. */
  final class Extent {
    private final long bytes;
    // Set once, by reserve.
    private long start;
    // Guarded by the file's monitor.
    private @Nullable Extent nextDropped;

    private Extent(long bytes) {
      this.bytes = bytes;
    }

    /**
     * Writes native memory.
     *
     * @param at the offset in the extent in bytes
     * @throws TransferException if the write fails, for example because the disk is full
     * @throws IllegalStateException if the file is closed
     */
    void write(long at, MemorySegment source) {
      try {
        onFileThread(() -> writeUncut(start + at, source));
      } catch (IOException e) {
        throw new TransferException(
            "spilling "
                + ByteSize.format(bytes)
                + " to "
                + directory()
                + " failed: "
                + FileErrors.reason(e)
                + "; the buffer stays in memory. Make room there, or name another spill-directory",
            e);
      }
    }

    /**
     * Fills native memory of the extent's size.
     *
     * @throws TransferException if the read fails
     * @throws IllegalStateException if the file is closed
     */
    void read(MemorySegment destination) {
      try {
        onFileThread(() -> transfer(SpillFile::readSome, start, destination));
      } catch (IOException e) {
        throw new TransferException(
            "bringing "
                + ByteSize.format(bytes)
                + " back from "
                + directory()
                + " failed: "
                + FileErrors.reason(e)
                + "; the spilled bytes stay as they are, and the next access tries again",
            e);
      }
    }

    /** Frees the part; called once. Never throws, and does not wait for the disk. */
    void drop() {
      if (release(this)) {
        try {
          threads.execute(SpillFile.this::cut);
        } catch (RejectedExecutionException | VirtualMachineError _) {
          // The file is closed and deleted, or the heap is full and a later drop cuts the file.
          return;
        }
      }
    }
  }

  /** Frees an extent; returns whether the unused end of the file should be cut off. */
  private synchronized boolean release(Extent extent) {
    usedBytes -= extent.bytes;
    extent.nextDropped = dropped;
    dropped = extent;
    giveBackDropped();
    return space.end() == 0 ? highest > 0 : highest > 2 * space.end() + CUT_FROM;
  }

  /**
   * Frees the space of dropped extents. If the heap is full, the rest stays allocated until the
   * next call. The monitor is held.
   */
  private void giveBackDropped() {
    try {
      for (Extent next = dropped; next != null; next = next.nextDropped) {
        space.giveBack(next.start, next.bytes);
        dropped = next.nextDropped;
      }
    } catch (OutOfMemoryError _) {
      return;
    }
  }

  /** Cuts off the unused end of the file. Only writes wait for this. */
  private void cut() {
    long stamp = cutting.writeLock();
    try {
      long from;
      long to;
      synchronized (this) {
        from = space.end();
        to = highest;
        highest = Math.min(from, to);
      }
      if (from < to) {
        cut(from, to);
      }
    } finally {
      cutting.unlockWrite(stamp);
    }
  }

  private void cut(long from, long to) {
    try {
      channel.truncate(from);
    } catch (IOException e) {
      synchronized (this) {
        highest = Math.max(highest, to);
      }
      FailureLog.debug("the spill file keeps its size", e);
    }
  }

  private void writeUncut(long position, MemorySegment source) throws IOException {
    long stamp = cutting.readLock();
    try {
      transfer(FileChannel::write, position, source);
    } finally {
      cutting.unlockRead(stamp);
    }
  }

  @FunctionalInterface
  private interface ChannelCall {
    int move(FileChannel channel, ByteBuffer buffer, long position) throws IOException;
  }

  private static int readSome(FileChannel channel, ByteBuffer target, long position)
      throws IOException {
    int count = channel.read(target, position);
    if (count < 0) {
      throw new EOFException("the file ends at byte " + channel.size());
    }
    return count;
  }

  private void transfer(ChannelCall call, long position, MemorySegment segment) throws IOException {
    long done = 0;
    while (done < segment.byteSize()) {
      long step = Math.min(STEP, segment.byteSize() - done);
      ByteBuffer buffer = segment.asSlice(done, step).asByteBuffer();
      done += call.move(channel, buffer, position + done);
    }
  }

  private interface FileTask {
    void run() throws IOException;
  }

  /** Runs a task on a thread of the file and waits. An interrupt stays set. */
  private void onFileThread(FileTask task) throws IOException {
    Future<?> future;
    try {
      future =
          threads.submit(
              () -> {
                task.run();
                return null;
              });
    } catch (RejectedExecutionException e) {
      throw new IllegalStateException(
          "the spill file in " + directory() + " is closed, and what was in it is gone", e);
    }
    awaitEnd(future);
  }

  /**
   * Waits for the end of a task even if the heap is full: the memory that the task reads or writes
   * must not get another owner before. Creates no object.
   */
  private static void awaitEnd(Future<?> task) throws IOException {
    boolean interrupted = false;
    while (true) {
      try {
        var _ = task.get();
        return;
      } catch (InterruptedException e) {
        interrupted = true;
      } catch (OutOfMemoryError e) {
        LockSupport.parkNanos(RETRY_NANOS);
      } catch (ExecutionException e) {
        throw e.getCause() instanceof IOException failure ? failure : new IOException(e.getCause());
      } finally {
        if (interrupted && task.isDone()) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }

  /** Closes the file, which deletes it. */
  @Override
  public void close() throws IOException {
    threads.shutdown();
    channel.close();
    OWN.remove(path.getFileName());
  }
}
