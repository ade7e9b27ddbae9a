package dev.tidepool.spi;

import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An in-order queue of commands of one device.
 *
 * <p>Commands are handed to the device at once and do not wait for it (a device that computes on
 * the calling thread may be done when they return); each begins when those before it in the queue
 * have ended. A command that fails does not stop those after it. Thread-safe. Offsets and counts
 * are in bytes; counts of zero are legal and do nothing. Callers have checked ranges, keep blocks
 * and segments alive until the event is done, and ensure that no other command uses the same bytes
 * at the same time.
 *
 * <p>All commands may throw {@link dev.tidepool.AcceleratorException} when they are refused at
 * once.
 *
 * <p>Queues are told apart by their objects. A driver may use the handle of a closed queue again.
 */
public interface Queue extends NativeQueue {
  /** Copies a native segment of the host to a block. */
  Event write(MemorySegment source, Block destination, long offset);

  /** Fills a native segment of the host from a block. */
  Event read(Block source, long offset, MemorySegment destination);

  /**
   * A {@link #write} and the wait for its end, as an {@link Event#await}; called on platform
   * threads. For backends that can do with less than an event.
   */
  default void writeNow(MemorySegment source, Block destination, long offset) {
    try (Event written = write(source, destination, offset)) {
      EventWait.untilEnded(written);
    }
  }

  /** A {@link #read} and the wait for its end, likewise. */
  default void readNow(Block source, long offset, MemorySegment destination) {
    try (Event read = read(source, offset, destination)) {
      EventWait.untilEnded(read);
    }
  }

  /**
   * Copies pieces of a native segment of the host to many places, which do not overlap; in effect a
   * {@link #write} of each, which is also what this does where a backend knows no better. Where one
   * command can do it, pieces travel fastest whose {@code from} and {@code offset} leave the same
   * rest by 16.
   */
  default Event scatter(MemorySegment staged, List<Piece> pieces) {
    return JointEvent.of(
        pieces,
        piece -> write(staged.asSlice(piece.from(), piece.bytes()), piece.block(), piece.offset()));
  }

  /**
   * Copies pieces of many places to a native segment of the host, where they do not overlap: the
   * way back of {@link #scatter}, in effect a {@link #read} of each. What lies between them in the
   * segment is undefined then.
   */
  default Event gather(List<Piece> pieces, MemorySegment staged) {
    return JointEvent.of(
        pieces,
        piece -> read(piece.block(), piece.offset(), staged.asSlice(piece.from(), piece.bytes())));
  }

  /**
   * Returns whether {@link #scatter} and {@link #gather} are faster here than a {@link #write} or
   * {@link #read} of each piece.
   */
  default boolean scattersAtOnce() {
    return false;
  }

  /**
   * Copies between blocks that this device reaches: its own, and those of devices that it {@link
   * Device#copiesFrom}. The ranges do not overlap.
   */
  Event copy(Block source, long sourceOffset, Block destination, long offset, long bytes);

  /** Sets bytes. */
  Event fill(Block block, long offset, long bytes, byte value);

  /**
   * Sets words in the platform's byte order; null where the device has no command for that, or none
   * for such an offset or count.
   *
   * @param width bytes of a word: 2 or 4
   */
  default @Nullable Event fillWords(Block block, long offset, long bytes, int width, int word) {
    return null;
  }

  /** Runs a program. */
  Event launch(Launch launch);

  /**
   * Runs a program that uses what other commands made: it begins when they have ended. A device
   * that can skip it does not run it if one of them failed, and its event fails then. Other devices
   * may run it. The runtime calls this on devices whose {@link Device#launchOrder} is not {@link
   * LaunchOrder#HOST}, and discards the results of what depends on a failed command either way.
   *
   * @param dependsOn events of this queue, and where launches are ordered {@linkplain
   *     LaunchOrder#ACROSS_QUEUES across queues}, of others of this device. They may have ended,
   *     well or not. They stay open until this returns
   */
  default Event launch(Launch launch, List<Event> dependsOn) {
    dependsOn.forEach(this::after);
    return launch(launch);
  }

  /** Lets the host use the segment of a {@link HostAccess#MAPPED} block, once done. */
  Event acquire(Block block);

  /** Ends what {@link #acquire} began. */
  Event release(Block block);

  /**
   * Moves the pages of a {@link BlockKind#UNIFIED} block to where they will be used next; null
   * where nothing needs to move.
   */
  default @Nullable Event prefetch(Block block, long offset, long bytes, boolean toDevice) {
    return null;
  }

  /** Ends the queue after its commands have ended. Idempotent; survives a lost device. */
  @Override
  void close();
}
