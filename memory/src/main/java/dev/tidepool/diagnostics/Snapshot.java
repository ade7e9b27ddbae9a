package dev.tidepool.diagnostics;

import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * The blocks of a manager's pools at one moment, their owners, and the latest allocations and
 * frees. Created by {@link UnifiedMemoryManager#snapshot()}. Immutable.
 *
 * <p>No thread is stopped while a snapshot is taken, so concurrent changes may appear in one part
 * of it and not in another.
 *
 * <p>The JSON form is a public format, which docs/snapshot.md describes; {@code tidepool view}
 * displays it.
 *
 * @param time the time at which the snapshot was taken
 * @param uptime the age of the manager at that time
 * @param reason why the snapshot was taken: {@code request}, or the message of the out-of-memory
 *     error
 * @param accelerator the accelerator's id
 * @param memory the accelerator's memory
 * @param statistics the manager's figures
 * @param pools the manager's pools; the pool of plain host memory may be shared with other managers
 * @param tags every tag that has live buffers or is in the history, with the bytes of its live
 *     buffers
 * @param blocks every block of the pools, and every live buffer over memory outside of the pools
 * @param history the latest allocations and frees, oldest first; empty unless {@link
 *     MemoryOptions#history()} keeps them
 * @param forgotten how many allocations and frees happened before those of the history; 0 if no
 *     history is kept
 * @param reservations the manager's open reservations, the oldest first
 */
public record Snapshot(
    Instant time,
    Duration uptime,
    String reason,
    String accelerator,
    MemoryInfo memory,
    MemoryStatistics statistics,
    List<Pool> pools,
    List<Tag> tags,
    List<Block> blocks,
    List<Change> history,
    long forgotten,
    List<Reserved> reservations) {

  /** The {@link Block#pool()} of buffers over memory outside of the pools. */
  public static final int NO_POOL = -1;

  /** The use of a block. */
  public enum State {
    /** A buffer of this manager uses the block. */
    LIVE,
    /** The block is idle in its pool. */
    IDLE,
    /** A transfer stages through the block, another manager uses it, or it is changing state. */
    BUSY
  }

  /**
   * A pool.
   *
   * @param name the name in messages
   * @param statistics the {@code dev.tidepool.pooling.PoolStatistics} of the pool
   */
  public record Pool(String name, Record statistics) {}

  /**
   * The live buffers of one tag.
   *
   * @param name the tag; empty for buffers without one
   * @param liveBytes the requested bytes of these buffers
   * @param liveBuffers the number of these buffers
   */
  public record Tag(String name, long liveBytes, long liveBuffers) {}

  /**
   * A block of a pool.
   *
   * @param pool the index of its pool in {@link #pools()}, or {@link #NO_POOL}
   * @param slab the number of the driver's block that contains it; unique in the process
   * @param offset the offset of the block in the slab, in bytes
   * @param bytes the size of the block; its buffer may be smaller
   * @param state its use
   * @param tag the buffer's tag; empty if there is no tag or no buffer
   * @param elementType the name of the buffer's element type; empty if there is no buffer
   * @param length the number of elements of the buffer
   * @param age the time since the buffer was allocated; if there is no buffer, since the block was
   * @param site the stack of the buffer's allocation; empty if it was not recorded
   */
  public record Block(
      int pool,
      long slab,
      long offset,
      long bytes,
      State state,
      String tag,
      String elementType,
      long length,
      Duration age,
      String site) {}

  /**
   * An allocation or a free of a buffer.
   *
   * @param at the age of the manager at the time of the change
   * @param bytes the requested bytes of the buffer; negative if it was freed
   * @param tag the buffer's tag
   */
  public record Change(Duration at, long bytes, String tag) {}

  /**
   * An open reservation.
   *
   * @param name the name of the reservation; empty if it has none
   * @param bytes the reserved bytes
   * @param usedBytes the reserved bytes that buffers use
   */
  public record Reserved(String name, long bytes, long usedBytes) {}

  /** Copies the lists. */
  public Snapshot {
    pools = List.copyOf(pools);
    tags = List.copyOf(tags);
    blocks = List.copyOf(blocks);
    history = List.copyOf(history);
    reservations = List.copyOf(reservations);
  }

  /** Returns the JSON form. */
  public String toJson() {
    StringBuilder text = new StringBuilder();
    try {
      new SnapshotText(this).appendTo(text);
    } catch (IOException e) {
      throw new AssertionError("a text in memory takes what it is given", e);
    }
    return text.toString();
  }

  /**
   * Writes the JSON form to a new file. Only its owner can read it, because tags and stacks reveal
   * details of the program. If this method throws, it leaves no file.
   *
   * @throws TransferException if the file exists or cannot be written
   */
  public void writeTo(Path file) {
    try {
      Files.createFile(file, ownerOnly(file));
      try (Writer writer = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
        new SnapshotText(this).appendTo(writer);
      } catch (IOException | RuntimeException | Error e) {
        Files.deleteIfExists(file);
        throw e;
      }
    } catch (IOException e) {
      throw new TransferException(
          "cannot write the snapshot " + file + ": " + reason(e) + "; name another file", e);
    }
  }

  private static FileAttribute<?>[] ownerOnly(Path file) {
    return file.getFileSystem().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
        }
        : new FileAttribute<?>[0];
  }

  private static String reason(IOException e) {
    return switch (e) {
      case FileAlreadyExistsException _ -> "it exists";
      case NoSuchFileException _ -> "its folder does not exist";
      case AccessDeniedException _ -> "permission denied";
      default -> e.getMessage() == null ? e.toString() : e.getMessage();
    };
  }
}
