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
 * Every block that a manager's pools have at one moment, its owner, and what was allocated and
 * freed lately. Taken by {@link UnifiedMemoryManager#snapshot()}; immutable.
 *
 * <p>No thread is stopped while a snapshot is taken, so what other threads do meanwhile may be in
 * one part of it and not in another.
 *
 * <p>The JSON form is a public format, which docs/snapshot.md describes; {@code tidepool view}
 * draws it.
 *
 * @param time when it was taken
 * @param uptime how old the manager was then
 * @param reason why it was taken: {@code request}, or the message of the error for which memory ran
 *     out
 * @param accelerator the accelerator's id
 * @param memory the accelerator's memory
 * @param statistics the manager's figures
 * @param pools its pools; that of plain host memory may be shared with other managers
 * @param tags every tag that has live buffers or is in the history, with the bytes of its live
 *     buffers
 * @param blocks every block of the pools, and every live buffer over memory that no pool has
 * @param history the latest allocations and frees, oldest first; empty unless {@link
 *     MemoryOptions#history()} keeps them
 * @param forgotten how many allocations and frees came before those of the history; 0 if none is
 *     kept
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

  /** The {@link Block#pool()} of buffers over memory that no pool has. */
  public static final int NO_POOL = -1;

  /** The use of a block. */
  public enum State {
    /** A buffer of this manager has it. */
    LIVE,
    /** It waits in its pool for the next buffer. */
    IDLE,
    /** A transfer stages through it, another manager has it, or it is on its way right now. */
    BUSY
  }

  /**
   * A pool.
   *
   * @param name what messages call it
   * @param statistics its {@code dev.tidepool.pooling.PoolStatistics}
   */
  public record Pool(String name, Record statistics) {}

  /**
   * What the live buffers of one tag have.
   *
   * @param name the tag; empty for buffers without one
   * @param liveBytes their bytes, as they were asked for
   * @param liveBuffers how many they are
   */
  public record Tag(String name, long liveBytes, long liveBuffers) {}

  /**
   * One block.
   *
   * @param pool the place of its pool in {@link #pools()}, or {@link #NO_POOL}
   * @param slab which block of the driver it is or is a part of; unique in the process
   * @param offset the byte of the slab that it begins at
   * @param bytes its size; the buffer that has it may be smaller
   * @param state its use
   * @param tag the buffer's tag; empty if it has none, or no buffer has the block
   * @param elementType the buffer's elements; empty if no buffer has it
   * @param length how many elements the buffer has
   * @param age the time since the buffer was allocated, or if there is none, since the block was
   * @param site where the buffer was allocated, if the diagnostics level records that; else empty
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
   * A buffer that was allocated or freed.
   *
   * @param at when, as the age of the manager
   * @param bytes the buffer's bytes as they were asked for; negative when they were given back
   * @param tag the buffer's tag
   */
  public record Change(Duration at, long bytes, String tag) {}

  /**
   * An open reservation.
   *
   * @param name empty if it was not named
   * @param bytes that are reserved
   * @param usedBytes those of them that buffers have
   */
  public record Reserved(String name, long bytes, long usedBytes) {}

  /** Keeps its own copies. */
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
   * Writes the JSON form to a new file, readable for its owner only: tags and stacks tell about the
   * program. After a failure no file is left.
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
