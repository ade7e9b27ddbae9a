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
 * A file that this process shares with others, mapped: how it begins, is found, and ends.
 *
 * <p><b>Locks tell which processes use a file.</b> Every process that uses one holds a shared lock
 * on it, from before it trusts the contents until after it has unmapped them; the system releases
 * the locks of a process that dies. A process that gets the exclusive lock knows that no other uses
 * the file, and deletes it before it gives the lock up: that is how the last user leaves, and how
 * what killed processes left is swept.
 *
 * <p>Between the opening of a path and the lock, another process may delete the file, and create
 * another one. So a thread that has a lock checks that the path still names the file that it named
 * before the opening; if not, it starts again. A file is made under a name that no other process
 * takes, locked, and linked to its own name when it is whole.
 *
 * <p><b>Threads.</b> Locks belong to the process, and all of them on a file go when the process
 * closes any channel to it. So there is one channel, and one mapping, however often the process has
 * opened a name, and {@link SharedFileTable} lets one thread at a time do what is here with a path,
 * and leaves alone what is in use. A thread that is interrupted in a channel closes it: the
 * interrupt is taken down for the time of the work, and the work is done again if one came in
 * between.
 */
final class SharedFile {
  private static final System.Logger LOG = System.getLogger(SharedFile.class.getName());

  // Far behind the bytes, because Windows would stop others from reading locked bytes.
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

  /** Tells the file from others, whatever their names; null where the system has no such thing. */
  @Nullable Object key() {
    return key;
  }

  /**
   * Returns a new file of zeros.
   *
   * @param begun the name that it is made under, which no other process takes
   * @throws FileAlreadyExistsException if there is one that is in use, or none of ours
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

  /** Null if another process took the file for one that was left behind, before it was locked. */
  private static @Nullable SharedFile tryCreate(Path path, Path begun, SharedHeader header)
      throws IOException {
    // Another process may be at it just now, and hold the lock for that moment.
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

  /** Gives a whole file its own name; false if it was deleted under the other one. */
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
   * Returns a file that others use.
   *
   * @throws NoSuchFileException if there is none, or it was not used any more
   * @throws IllegalArgumentException if it holds elements of another type
   * @throws TransferException if it is not this user's, damaged, or another version's
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

  /** Null if the file is just being deleted or replaced. */
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
        // Its users were killed. Leaving deletes it.
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
   * Ends this process's use of the file: unmaps it, later if a native call still holds it, and
   * deletes it unless others use it. Never throws.
   *
   * @param whenGone is run when this process has finished with the path
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

  /** Gives the lock up, and deletes the file unless others use it. Never throws. */
  void leave() {
    abandon(channel, key, path);
  }

  /**
   * Closes the channel of a locked file, and deletes the file unless others use it. Never throws.
   *
   * @param ours the file if it is known to be ours, even if its contents do not tell any more
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

  /** Describes the owner of a file that is in the way. */
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

  /** Deletes a file of ours that is not in use; whether the path is free now. */
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
      // Another class loader's SharedFileTable uses the file.
      return false;
    }
  }

  private static Set<OpenOption> existing() {
    return Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
  }

  /** Returns the first bytes, fewer if the file has fewer. */
  private static ByteBuffer read(FileChannel channel, int bytes) throws IOException {
    ByteBuffer front = ByteBuffer.allocate(bytes);
    int count = 0;
    while (count >= 0 && front.hasRemaining()) {
      count = channel.read(front, front.position());
    }
    return front.flip();
  }
}
