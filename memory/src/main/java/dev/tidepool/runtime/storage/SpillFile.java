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
 * The file that a manager's idle bytes go to when memory is short, in a directory that the user
 * names. It counts how often they did.
 *
 * <p><b>What is left of it.</b> The file is deleted as it is opened, and its space goes back when
 * it closes or its process dies, however that dies. Where a system cannot delete what is open, the
 * file is deleted when it closes; a killed process leaves it behind, without the lock that it held,
 * and the next manager that names the directory deletes it then. Only its owner may open it.
 *
 * <p><b>Threads.</b> Files are touched by threads of this class alone: an interrupt would close the
 * channel, and with it the deleted file, for all threads. The calling thread waits for them, which
 * parks a virtual thread. They wait for nothing but the disk. The monitor guards {@code space} and
 * the sizes; no thread waits for the disk while it holds it. The file is cut off under a lock of
 * its own, which writes share: a write to a part that was reserved meanwhile comes after the cut.
 */
public final class SpillFile implements AutoCloseable {
  /** Bytes that one call moves: enough for any disk, and far below what one call can. */
  private static final long RETRY_NANOS = 1_000_000;

  private static final int STEP = 8 << 20;

  private static final long CUT_FROM = 64L << 20;
  private static final int THREADS = 4;
  private static final long IDLE_SECONDS = 10;
  private static final String PREFIX = "tidepool-spill-";
  private static final String SUFFIX = ".tmp";

  /**
   * Names of this process's files: to open one again and close it would drop its lock. They are
   * unique, and a directory may have several paths.
   */
  private static final Set<Path> OWN = ConcurrentHashMap.newKeySet();

  private static final AtomicInteger NUMBERS = new AtomicInteger();

  private final Path path;
  private final FileChannel channel;
  private final ThreadPoolExecutor threads;
  private final LongAdder spills = new LongAdder();
  private final LongAdder returns = new LongAdder();
  // Stays usable where the heap is full, as a ReentrantReadWriteLock does not.
  private final StampedLock cutting = new StampedLock();

  // Guarded by this.
  private final ExtentAllocator space = new ExtentAllocator();
  private long highest;
  private long usedBytes;
  // Extents whose space is still taken, because the heap had no room to give it back.
  private @Nullable Extent dropped;

  /** Creates a spill file over an open channel. */
  SpillFile(Path path, FileChannel channel) {
    this.path = path;
    this.channel = channel;
    AtomicInteger count = new AtomicInteger();
    this.threads =
        new ThreadPoolExecutor(
            THREADS,
            THREADS,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task ->
                Thread.ofPlatform()
                    .daemon()
                    .name("tidepool-spill-" + count.getAndIncrement())
                    .unstarted(task));
    threads.allowCoreThreadTimeOut(true);
  }

  /**
   * Makes a file, and deletes those that killed processes left.
   *
   * @throws TransferException if the directory is missing, or no file can be made there
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

  /** Some folders that are no place for files, such as /proc, say that the file is missing. */
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
      // A file system without locks: a sweep may delete the file, which the channel survives.
      FailureLog.debug(path + " cannot be locked; it is used without", e);
    }
  }

  /** Deletes the files of processes that have ended: their locks are free. */
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

  /** Bytes of buffers that are in the file now. */
  public synchronized long spilledBytes() {
    return usedBytes;
  }

  /** A buffer's bytes are in the file. */
  void spilled() {
    spills.increment();
  }

  /** A buffer has its bytes in memory again. */
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

  Path directory() {
    return path.resolveSibling("").normalize();
  }

  /** Reserves so many bytes; the caller must drop them. */
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
     * @param at where, in bytes from the extent's begin
     * @throws TransferException if it cannot be written, such as on a full disk
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
     * @throws TransferException if the disk fails
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

    /** Gives the bytes back; once. Never throws, and waits for no disk. */
    void drop() {
      if (release(this)) {
        try {
          threads.execute(SpillFile.this::cut);
        } catch (RejectedExecutionException | VirtualMachineError _) {
          // The file is closed, and with that deleted; or the heap is full, and another call cuts.
          return;
        }
      }
    }
  }

  /** Gives bytes back; returns whether so little of the file is left that its end should go. */
  private synchronized boolean release(Extent extent) {
    usedBytes -= extent.bytes;
    extent.nextDropped = dropped;
    dropped = extent;
    giveBackDropped();
    return space.end() == 0 ? highest > 0 : highest > 2 * space.end() + CUT_FROM;
  }

  /**
   * Gives the space of dropped extents back. What the heap has no room for stays taken until the
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

  /** Cuts the unused end of the file off. Only writes wait for it. */
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

  /** Not interruptible: an interrupt stays set. */
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
   * Waits for a task, also where the heap has no room to wait: what the task moves must not get
   * another owner before it has ended. Makes no object.
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

  /** Ends the file and all that is in it. */
  @Override
  public void close() throws IOException {
    threads.shutdown();
    channel.close();
    OWN.remove(path.getFileName());
  }
}
