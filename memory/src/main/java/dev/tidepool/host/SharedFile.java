package dev.tidepool.host;

import dev.tidepool.ElementType;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TransferException;
import dev.tidepool.spi.support.FilePermissions;
import dev.tidepool.spi.support.Uninterruptibly;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A mapped file that this process shares with others: its creation, opening, and end.
 *
 * <p><b>Locks.</b> Every process that uses a file holds a shared lock on it, from before it trusts
 * the contents until after it has unmapped them. The system releases the locks of a process that
 * dies. A process that gets the exclusive lock knows that no other process uses the file, and
 * deletes the file before it releases the lock. In this way the last user deletes its file, and the
 * files of killed processes are deleted.
 *
 * <p>Between opening a path and locking the file, another process may delete the file and create
 * another one. So after locking, a thread checks that the path still names the same file as before
 * opening. If not, it starts again. A new file gets a name that no other process uses. It is
 * locked, and linked to its own name when it is complete.
 *
 * <p><b>Threads.</b> Locks belong to the process. When the process closes any channel to a file,
 * all its locks on the file are released. So there is one channel and one mapping, however often
 * the process has opened a name. {@link SharedFileTable} admits one thread at a time to the
 * operations here on a path, and leaves files in use alone. An interrupt of a thread in a channel
 * operation closes the channel. So the interrupt is cleared during the work, and the work is
 * repeated if one came meanwhile.
 */
final class SharedFile {
  private static final System.Logger LOG = System.getLogger(SharedFile.class.getName());

  // Far behind the bytes, because Windows prevents others from reading locked bytes.
  private static final long LOCK_AT = Long.MAX_VALUE - 1;
  private static final long PATIENCE_NANOS = 10_000_000_000L;
  private static final long PAUSE_NANOS = 100_000;
  private static final int LOOKS = 5;

  private final Path path;
  private final SharedHeader header;
  private final FileChannel channel;
  private final Arena arena;
  private final MemorySegment elements;
  private final @Nullable Object key;

  private SharedFile(
      Path path,
      SharedHeader header,
      FileChannel channel,
      Arena arena,
      MemorySegment elements,
      @Nullable Object key) {
    this.path = path;
    this.header = header;
    this.channel = channel;
    this.arena = arena;
    this.elements = elements;
    this.key = key;
  }

  SharedHeader header() {
    return header;
  }

  MemorySegment elements() {
    return elements;
  }

  /** Returns the identity of the file, independent of its names, or null if the system has none. */
  @Nullable Object key() {
    return key;
  }

  /**
   * Creates a file of zeros.
   *
   * @param begun the temporary name of the file, which no other process uses
   * @throws FileAlreadyExistsException if a file exists that is in use or not ours
   * @throws OutOfDeviceMemoryException if there is no room
   */
  static SharedFile create(Path path, Path begun, SharedHeader header) throws IOException {
    return Uninterruptibly.reopening(
        () -> {
          SharedFile created = null;
          while (created == null) {
            created = tryCreate(path, begun, header);
          }
          return created;
        });
  }

  /** Creates a file. Returns null if another process deleted it as unused before it was locked. */
  private static @Nullable SharedFile tryCreate(Path path, Path begun, SharedHeader header)
      throws IOException {
    // Another process may be checking the file, and hold the lock for that moment.
    for (int i = 0; !discardIfUnused(path); i++) {
      if (i == LOOKS) {
        throw new FileAlreadyExistsException(path.toString());
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
    FileChannel channel =
        FileChannel.open(
            begun,
            Set.of(
                StandardOpenOption.CREATE_NEW,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE,
                LinkOption.NOFOLLOW_LINKS),
            FilePermissions.ownerOnly(begun));
    SharedFile created = null;
    try {
      if (channel.tryLock(LOCK_AT, 1, true) != null) {
        FilePreallocation.fill(channel, header, path);
        if (link(path, begun)) {
          created = mapped(path, header, channel, FilePermissions.key(path));
        }
      }
      return created;
    } finally {
      if (created == null) {
        abandon(channel, null, begun, path);
      } else {
        delete(begun);
      }
    }
  }

  /** Links a complete file to its own name. Returns false if its temporary name was deleted. */
  private static boolean link(Path path, Path begun) throws IOException {
    try {
      Files.createLink(path, begun);
      return true;
    } catch (NoSuchFileException e) {
      return false;
    } catch (UnsupportedOperationException e) {
      throw new IOException("its file system has no hard links", e);
    }
  }

  /**
   * Opens a file that others use.
   *
   * @throws NoSuchFileException if there is none, or no process used it any more
   * @throws IllegalArgumentException if it holds elements of another type
   * @throws TransferException if it belongs to another user, is damaged, or has another version
   */
  static SharedFile open(Path path, ElementType<?> type, String what) throws IOException {
    return Uninterruptibly.reopening(
        () -> {
          long start = System.nanoTime();
          SharedFile opened = tryOpen(path, type, what);
          while (opened == null) {
            if (System.nanoTime() - start > PATIENCE_NANOS) {
              throw new TransferException(
                  what
                      + " has been locked by another process for "
                      + PATIENCE_NANOS / 1_000_000_000L
                      + " seconds; end that process",
                  null);
            }
            LockSupport.parkNanos(PAUSE_NANOS);
            opened = tryOpen(path, type, what);
          }
          return opened;
        });
  }

  /** Opens a file. Returns null if the file is being deleted or replaced. */
  private static @Nullable SharedFile tryOpen(Path path, ElementType<?> type, String what)
      throws IOException {
    String flaw = SharedFolder.flaw(path, false);
    if (!flaw.isEmpty()) {
      throw new TransferException(
          what + " is refused: the file " + path + " " + flaw + "; remove it", null);
    }
    Object key = FilePermissions.key(path);
    FileChannel channel = FileChannel.open(path, existing());
    SharedFile opened = null;
    try {
      boolean unused = channel.tryLock(LOCK_AT, 1, false) != null;
      ByteBuffer front = read(channel, SharedHeader.GRANULE);
      if (!SharedHeader.isOurs(front)) {
        throw new TransferException(
            what + " is a file that Tidepool did not make; remove it, or take another name", null);
      }
      if (unused) {
        // Its users were killed. Abandoning the file deletes it.
        throw new NoSuchFileException(path.toString());
      }
      if (channel.tryLock(LOCK_AT, 1, true) != null
          && Objects.equals(key, FilePermissions.key(path))) {
        int bytes = SharedHeader.bytesOf(front);
        SharedHeader header =
            SharedHeader.decode(
                bytes == front.remaining() ? front : read(channel, bytes), channel.size(), what);
        header.check(type, what);
        opened = mapped(path, header, channel, key);
      }
      return opened;
    } catch (OverlappingFileLockException e) {
      throw new TransferException(
          what + " is in use by another class loader of this process; load Tidepool once", e);
    } finally {
      if (opened == null) {
        abandon(channel, null, path);
      }
    }
  }

  private static SharedFile mapped(
      Path path, SharedHeader header, FileChannel channel, @Nullable Object key)
      throws IOException {
    Arena arena = Arena.ofShared();
    SharedFile made = null;
    try {
      MemorySegment all = channel.map(FileChannel.MapMode.READ_WRITE, 0, header.fileBytes(), arena);
      made = new SharedFile(path, header, channel, arena, all.asSlice(header.bytes()), key);
      return made;
    } finally {
      if (made == null) {
        arena.close();
      }
    }
  }

  /**
   * Ends this process's use of the file. Unmaps it, later if a native call still holds it, and
   * deletes it unless other processes use it. Never throws.
   *
   * @param whenGone runs when this process no longer uses the path
   */
  void close(Runnable whenGone) {
    new HostBlock(
            false,
            arena,
            elements,
            GrantedMemory.plain(elements.byteSize()),
            () -> {
              leave();
              whenGone.run();
            })
        .free();
  }

  /** Releases the lock, and deletes the file unless other processes use it. Never throws. */
  void leave() {
    abandon(channel, key, path);
  }

  /**
   * Closes the channel of a locked file, and deletes the file unless other processes use it. Never
   * throws.
   *
   * @param ours the key of the file if it is known to be ours, even if its contents no longer show
   *     it
   */
  private static void abandon(FileChannel channel, @Nullable Object ours, Path... paths) {
    try {
      channel.close();
      for (Path path : paths) {
        discardIfUnused(path, ours);
      }
    } catch (IOException | RuntimeException e) {
      LOG.log(
          System.Logger.Level.WARNING,
          paths[0] + " could not be deleted; the next process that shares memory tries again",
          e);
    }
  }

  private static void delete(Path begun) {
    try {
      Files.deleteIfExists(begun);
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, begun + " could not be deleted", e);
    }
  }

  /** Describes the file that occupies a name. */
  static String holder(Path path) {
    try (FileChannel channel = FileChannel.open(path, existing())) {
      ByteBuffer front = read(channel, SharedHeader.GRANULE);
      return SharedHeader.isOurs(front)
          ? "a shared buffer that process " + SharedHeader.creatorOf(front) + " created"
          : "a file that Tidepool did not make";
    } catch (IOException e) {
      return "a file that this process may not read";
    }
  }

  /** Deletes a file of ours that is not in use. Returns whether the path is free now. */
  static boolean discardIfUnused(Path path) throws IOException {
    return discardIfUnused(path, null);
  }

  private static boolean discardIfUnused(Path path, @Nullable Object ours) throws IOException {
    return Uninterruptibly.reopening(
        () -> {
          try {
            return tryDiscard(path, ours);
          } catch (NoSuchFileException e) {
            return true;
          }
        });
  }

  private static boolean tryDiscard(Path path, @Nullable Object ours) throws IOException {
    if (!SharedFolder.flaw(path, false).isEmpty()) {
      return false;
    }
    Object key = FilePermissions.key(path);
    try (FileChannel channel = FileChannel.open(path, existing())) {
      if (channel.tryLock(LOCK_AT, 1, false) == null
          || !Objects.equals(key, FilePermissions.key(path))) {
        return false;
      }
      boolean known = key != null && key.equals(ours);
      if (!known && !SharedHeader.isOurs(read(channel, Long.BYTES))) {
        return false;
      }
      Files.delete(path);
      return true;
    } catch (OverlappingFileLockException e) {
      // The SharedFileTable of another class loader uses the file.
      return false;
    }
  }

  private static Set<OpenOption> existing() {
    return Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
  }

  /** Returns the first bytes, or all bytes of a shorter file. */
  private static ByteBuffer read(FileChannel channel, int bytes) throws IOException {
    ByteBuffer front = ByteBuffer.allocate(bytes);
    int count = 0;
    while (count >= 0 && front.hasRemaining()) {
      count = channel.read(front, front.position());
    }
    return front.flip();
  }
}
