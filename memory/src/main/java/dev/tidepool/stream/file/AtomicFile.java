package dev.tidepool.stream.file;

import dev.tidepool.ByteSize;
import dev.tidepool.TransferException;
import dev.tidepool.host.system.LibC;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.spi.support.FilePermissions;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.AccessDeniedException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * A file that appears whole or not at all: written beside its target under a hidden name and
 * renamed by {@link #commit}.
 *
 * <p>{@link #write} is safe for use by any thread, several at once; bytes that nobody wrote are
 * zero. Closing without a commit, a failure, and the end of the virtual machine delete what was
 * written. Bytes are handed to the operating system, which may keep them in its cache: a commit
 * survives the end of the process, not a power failure.
 *
 * <p>Locking: the state changes under this object's monitor; writes hold no lock.
 */
public final class AtomicFile implements AutoCloseable {
  private enum State {
    OPEN,
    /** It is complete, and only its name is to be changed. */
    PREPARED,
    COMMITTED,
    CLOSED
  }

  // What these hold may take less room than its bytes, so their free bytes refuse nothing.
  private static final Set<String> COMPRESSING = Set.of("btrfs", "zfs", "bcachefs", "f2fs");

  // Where blocks that are allocated beforehand save the writes half of their time.
  private static final Set<String> PREALLOCATED = Set.of("ext4", "xfs");

  /** For less, linking the system's functions takes longer than they save. */
  private static final long RESERVED_FROM = 128L << 20;

  private final Path target;
  private final Path partial;
  private final long bytes;
  private final boolean overwrite;
  private final PositionalFile file;
  private boolean kept;
  private State state = State.OPEN;
  private volatile boolean failed;

  private AtomicFile(
      Path target, Path partial, long bytes, boolean overwrite, PositionalFile file, boolean kept) {
    this.target = target;
    this.partial = partial;
    this.bytes = bytes;
    this.overwrite = overwrite;
    this.file = file;
    this.kept = kept;
  }

  /**
   * Begins a file. Where the target is a symbolic link, what it leads to is replaced, with that
   * file's permissions.
   *
   * @param bytes about as many as the file will have, for which the disk must have room; 0 if that
   *     is not known
   * @param overwrite whether a target that exists is replaced
   * @param partialName of the file in its target's folder, until it is committed
   * @param kept whether it outlives a failure, a close and the virtual machine, until {@link
   *     #reopen} goes on with it
   * @param attributes of a file that replaces no other
   * @throws TransferException if the target exists and may not be replaced, is write-protected, is
   *     no regular file or a link that leads to none, its folder is missing or read-only, or the
   *     disk has no room for all of it
   */
  public static AtomicFile create(
      Path target,
      long bytes,
      boolean overwrite,
      String partialName,
      boolean kept,
      FileAttribute<?>... attributes) {
    FileErrors.checkFileSystem("write", target);
    try {
      boolean exists = Files.exists(target);
      checkReachable(target);
      if (!exists && Files.isSymbolicLink(target)) {
        // Before all is computed: in the end it could not be put there.
        throw new TransferException(
            target + " is a symbolic link that leads to no file; remove it, or name another file",
            null);
      }
      if (exists && !Files.isRegularFile(target)) {
        throw irregular(target);
      }
      if (exists) {
        checkReplaceable(target, overwrite);
      }
      Path file = place(target);
      Path folder = Objects.requireNonNull(file.getParent(), "a file has a folder");
      if (!Files.isDirectory(folder)) {
        throw new TransferException(
            "cannot write " + target + ": the folder " + folder + " does not exist", null);
      }
      checkRoom(target, folder, bytes);
      return begin(file, folder.resolve(partialName), bytes, overwrite, kept, attributes);
    } catch (IOException e) {
      throw FileErrors.failed("write", target, e);
    }
  }

  /** A file that its user has protected stays, though its folder would let it be replaced. */
  private static void checkReplaceable(Path target, boolean overwrite) {
    if (!overwrite) {
      throw existing(target, null);
    }
    if (!Files.isWritable(target)) {
      throw new TransferException(
          "cannot write "
              + target
              + ": permission denied, it is write-protected; make it writable, or name another"
              + " file",
          new AccessDeniedException(target.toString()));
    }
  }

  private static TransferException existing(
      Path target, @Nullable FileAlreadyExistsException cause) {
    return new TransferException(
        target + " exists; name another file, or allow overwriting",
        cause == null ? new FileAlreadyExistsException(target.toString()) : cause);
  }

  /**
   * Throws if the path is unusable for a reason other than that the file is missing, as for a long
   * name.
   */
  private static void checkReachable(Path target) throws IOException {
    try {
      var _ = FilePermissions.key(target);
    } catch (NoSuchFileException _) {
      // What is to be made.
    }
  }

  private static TransferException irregular(Path target) {
    return new TransferException(
        target + " exists and is no regular file; name another file", null);
  }

  private static void checkRoom(Path target, Path folder, long bytes) throws IOException {
    long free = folder.toFile().getUsableSpace();
    if (free < bytes && !COMPRESSING.contains(Files.getFileStore(folder).type())) {
      throw new TransferException(
          "cannot write "
              + target
              + ": it takes "
              + ByteSize.format(bytes)
              + ", but its disk has "
              + ByteSize.format(free)
              + " free; free some, or name a file on another disk",
          null);
    }
  }

  private static AtomicFile begin(
      Path target,
      Path partial,
      long bytes,
      boolean overwrite,
      boolean kept,
      FileAttribute<?>... attributes)
      throws IOException {
    if (!kept) {
      UnfinishedFiles.add(partial);
    }
    PositionalFile file;
    try {
      // A file that replaces another is readable by its owner alone meanwhile, because the other
      // may be private.
      file =
          PositionalFile.create(
              partial, Files.exists(target) ? FilePermissions.ownerOnly(partial) : attributes);
    } catch (IOException | RuntimeException e) {
      UnfinishedFiles.remove(partial);
      throw e;
    }
    return new AtomicFile(target, partial, bytes, overwrite, file, kept);
  }

  /** Returns a random name; a name that exists is an error, never overwritten. */
  public static String newPartialName() {
    return ".tidepool-" + Long.toHexString(ThreadLocalRandom.current().nextLong()) + ".partial";
  }

  /** Where the partial file of a target lies. */
  public static Path partial(Path target, String partialName) throws IOException {
    return place(target).resolveSibling(partialName);
  }

  /** Returns what identifies a file, whatever its name, as long as it is not changed. */
  public static String identity(Path file) throws IOException {
    BasicFileAttributes attributes =
        Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    return attributes.fileKey() + " " + attributes.size() + " " + attributes.lastModifiedTime();
  }

  /** The file that a target is; of a symbolic link, what it leads to. */
  public static Path place(Path target) throws IOException {
    return Files.exists(target) ? target.toRealPath() : target.toAbsolutePath();
  }

  /**
   * Goes on with a file that {@link #create} began and that was kept.
   *
   * @throws TransferException as {@link #create} does
   */
  public static AtomicFile reopen(Path target, long bytes, boolean overwrite, String partialName) {
    if (Files.exists(target)) {
      checkReplaceable(target, overwrite);
    }
    try {
      Path partial = partial(target, partialName);
      if (Files.exists(target)) {
        FilePermissions.restrict(partial); // It replaces a file, which may have come after it.
      }
      PositionalFile file = PositionalFile.update(partial);
      return new AtomicFile(place(target), partial, bytes, overwrite, file, true);
    } catch (IOException e) {
      throw FileErrors.failed("write", target, e);
    }
  }

  /** Returns the file that will appear; of a symbolic link, what it leads to. */
  public Path target() {
    return target;
  }

  /**
   * Returns the {@linkplain #identity(Path) identity} that a file which is prepared keeps in its
   * place.
   */
  public String identity() {
    try {
      return identity(partial);
    } catch (IOException e) {
      throw FileErrors.failed("write", target, e);
    }
  }

  /**
   * Writes a segment.
   *
   * @throws TransferException if the disk is full or fails; the file can not be committed then
   * @throws IllegalStateException if this file is committed or closed
   */
  public void write(long position, MemorySegment source) {
    try {
      file.write(position, source);
    } catch (ClosedChannelException e) {
      throw new IllegalStateException("the writer of " + target + " is closed", e);
    } catch (IOException e) {
      failed = true;
      throw new TransferException(
          "cannot write " + target + ": " + explain(e, position, source.byteSize()), e);
    }
  }

  private String explain(IOException e, long position, long written) {
    long free = partial.toFile().getUsableSpace();
    return free >= written
        ? FileErrors.reason(e)
        : "its disk is full ("
            + ByteSize.format(free)
            + " free, the file takes "
            + ByteSize.format(bytes == 0 ? position + written : bytes)
            + "); free some, or name a file on another disk";
  }

  /**
   * Completes the file and checks that it can be put in its place. Files that appear together are
   * all prepared before the first one is committed: what prevents one of them prevents all. Call it
   * after all writes returned; harmless when called again.
   *
   * @param length the bytes that it has then; those that were never written are zero
   * @throws IllegalStateException if a write failed or this writer was closed
   * @throws TransferException as {@link #commit} does
   */
  public synchronized void prepare(long length) {
    if (state == State.PREPARED || state == State.COMMITTED) {
      return;
    }
    if (state == State.CLOSED || failed) {
      throw new IllegalStateException(
          target + " cannot be committed: " + (failed ? "a write failed" : "its writer is closed"));
    }
    try {
      finish(length);
      file.close();
      checkPlace();
    } catch (IOException | TransferException e) {
      throw givenUp(e);
    }
    state = State.PREPARED;
  }

  private void checkPlace() throws IOException {
    if (!Files.exists(target, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    if (!overwrite) {
      throw existing(target, null);
    }
    if (!Files.isRegularFile(target, LinkOption.NOFOLLOW_LINKS)) {
      throw irregular(target);
    }
    FilePermissions.passOn(target, partial);
  }

  private TransferException givenUp(Exception e) {
    failed = true;
    TransferException failure =
        switch (e) {
          case TransferException told -> told;
          case FileAlreadyExistsException exists -> existing(target, exists);
          default -> FileErrors.failed("write", target, e);
        };
    try {
      close();
    } catch (TransferException undeleted) {
      failure.addSuppressed(undeleted);
    }
    return failure;
  }

  /**
   * Makes the file appear under its name, in one step. Call it after all writes returned; harmless
   * when called again.
   *
   * @param length the bytes that it has then; those that were never written are zero
   * @throws IllegalStateException if a write failed or this writer was closed
   * @throws TransferException if the target appeared meanwhile and may not be replaced, or the disk
   *     fails; nothing is left of the file then
   */
  public synchronized void commit(long length) {
    prepare(length);
    if (state == State.COMMITTED) {
      return;
    }
    try {
      if (overwrite) {
        replace();
      } else {
        appear();
      }
    } catch (IOException e) {
      throw givenUp(e);
    }
    state = State.COMMITTED;
    UnfinishedFiles.remove(partial);
  }

  /** Gives the file its whole length where the last elements were never written. */
  private void finish(long length) throws IOException {
    if (file.size() < length) {
      file.write(length - 1, MemorySegment.ofBuffer(ByteBuffer.allocate(1)));
    }
  }

  /**
   * Puts the file in its place, which must be free. Of several processes that create the target,
   * one succeeds, because a link replaces nothing.
   */
  private void appear() throws IOException {
    try {
      Files.createLink(target, partial);
    } catch (FileAlreadyExistsException e) {
      throw e;
    } catch (IOException | UnsupportedOperationException noLinks) {
      moveInPlace(noLinks);
      return;
    }
    try {
      Files.delete(partial);
    } catch (IOException _) {
      // The target is complete. Its hidden second name does no harm.
      return;
    }
  }

  /** Moves the file on a file system without links. A file that appears meanwhile is replaced. */
  private void moveInPlace(Exception noLinks) throws IOException {
    try {
      Files.move(partial, target);
    } catch (IOException e) {
      e.addSuppressed(noLinks);
      throw e;
    }
  }

  private void replace() throws IOException {
    try {
      Files.move(partial, target, StandardCopyOption.ATOMIC_MOVE);
    } catch (AtomicMoveNotSupportedException _) {
      Files.move(partial, target, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  /**
   * Lets the system allocate all blocks of a large file before they are written. If one is missing,
   * ext4 writes the whole file to the disk when it is renamed over another.
   */
  public void reserve() {
    try {
      if (bytes >= RESERVED_FROM
          && LibC.hasPreallocation()
          && PREALLOCATED.contains(Files.getFileStore(partial).type())) {
        LibC.preallocate(partial.toString(), bytes);
      }
    } catch (IOException _) {
      // The writes tell what is wrong with the disk.
    }
  }

  /** See {@link PositionalFile#allowCriticalCalls}. */
  public void allowCriticalCalls() {
    try {
      file.allowCriticalCalls();
    } catch (IOException e) {
      throw FileErrors.failed("write", target, e);
    }
  }

  /** Returns whether arrays are written without a copy. */
  public boolean makesCriticalCalls() {
    return file.makesCriticalCalls();
  }

  /** Waits until everything written so far would survive a power failure. */
  public void force() throws IOException {
    file.force();
  }

  /** Lets closing delete a file that was to be kept. */
  public synchronized void discard() {
    kept = false;
  }

  /** Ends the writes and deletes what was not committed, unless it is kept; idempotent. */
  @Override
  public synchronized void close() {
    if (state == State.COMMITTED || state == State.CLOSED) {
      return;
    }
    state = State.CLOSED;
    try (file) {
      if (!kept) {
        Files.deleteIfExists(partial);
      }
    } catch (IOException e) {
      throw FileErrors.failed("delete the partial file", partial, e);
    } finally {
      UnfinishedFiles.remove(partial);
    }
  }
}
