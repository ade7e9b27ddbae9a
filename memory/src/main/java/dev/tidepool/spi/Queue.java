package dev.tidepool.spi;

import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An in-order queue of commands of one device.
 *
 * <p>The methods submit commands at once and do not wait for the device. (A device that computes on
 * the calling thread may be done when they return.) A command starts when the commands before it in
 * the queue have ended. A failed command does not stop the ones after it. Offsets and counts are in
 * bytes; a count of zero does nothing. Callers check ranges, keep blocks and segments valid until
 * the event is done, and ensure that no other command uses the same bytes at the same time.
 * Thread-safe.
 *
 * <p>All commands may throw {@link dev.tidepool.AcceleratorException} if the driver rejects them at
 * once.
 *
 * <p>Queues are compared by object identity, because a driver may reuse the handle of a closed
 * queue.
 */
public interface Queue extends NativeQueue {
  /** Copies a native segment of the host to a block. */
  Event write(MemorySegment source, Block destination, long offset);

  /** Fills a native segment of the host from a block. */
  Event read(Block source, long offset, MemorySegment destination);

  /**
   * Copies like {@link #write}, and waits like {@link Event#await}. Called on platform threads. A
   * backend may override this if it can wait without an event.
   */
  default void writeNow(MemorySegment source, Block destination, long offset) {
    try (Event written = write(source, destination, offset)) {
      EventWait.untilEnded(written);
    }
  }

  /** Copies like {@link #read}, and waits like {@link #writeNow}. */
  default void readNow(Block source, long offset, MemorySegment destination) {
    try (Event read = read(source, offset, destination)) {
      EventWait.untilEnded(read);
    }
  }

  /**
   * Copies pieces of a native segment of the host to many places, which do not overlap. The default
   * makes a {@link #write} of each piece. If a backend uses one command, pieces are fastest if
   * {@code from} and {@code offset} are equal modulo 16.
   */
  default Event scatter(MemorySegment staged, List<Piece> pieces) {
    return JointEvent.of(
        pieces,
        piece -> write(staged.asSlice(piece.from(), piece.bytes()), piece.block(), piece.offset()));
  }

  /**
   * Copies pieces of many places to a native segment of the host, where they do not overlap. This
   * is the reverse of {@link #scatter}; the default makes a {@link #read} of each piece. Bytes of
   * the segment between the pieces become undefined.
   */
  default Event gather(List<Piece> pieces, MemorySegment staged) {
    return JointEvent.of(
        pieces,
        piece -> read(piece.block(), piece.offset(), staged.asSlice(piece.from(), piece.bytes())));
  }

  /**
   * Returns whether {@link #scatter} and {@link #gather} are faster than a {@link #write} or {@link
   * #read} of each piece.
   */
  default boolean scattersAtOnce() {
    return false;
  }

  /**
   * Copies between blocks of this device and of the devices that it {@linkplain Device#copiesFrom
   * copies from}. The ranges do not overlap.
   */
  Event copy(Block source, long sourceOffset, Block destination, long offset, long bytes);

  /** Sets bytes to a value. */
  Event fill(Block block, long offset, long bytes, byte value);

  /**
   * Sets words in the platform's byte order. Returns null if the device has no command for this, or
   * not for the offset or count.
   *
   * @param width the bytes of a word: 2 or 4
   */
  default @Nullable Event fillWords(Block block, long offset, long bytes, int width, int word) {
    return null;
  }

  /** Runs a program. */
  Event launch(Launch launch);

  /**
   * Runs a program when other commands have ended, because it uses their results. If one of them
   * failed, a device that can skip the launch does not run it, and its event fails; other devices
   * may run it. The runtime calls this on devices whose {@link Device#launchOrder} is not {@link
   * LaunchOrder#HOST}. In both cases it discards the results of launches that depend on a failed
   * command.
   *
   * @param dependsOn events of this queue, and of other queues of this device if launches are
   *     ordered {@linkplain LaunchOrder#ACROSS_QUEUES across queues}. They may have ended already,
   *     successfully or not. They stay open until this method returns
   */
  default Event launch(Launch launch, List<Event> dependsOn) {
    dependsOn.forEach(this::after);
    return launch(launch);
  }

  /**
   * Makes the segment of a {@link HostAccess#MAPPED} block usable by the host, when the event is
   * done. If this throws, the block is as before.
   */
  Event acquire(Block block);

  /**
   * Ends the host's use that {@link #acquire} began. If this throws, the host may still use the
   * segment.
   */
  Event release(Block block);

  /**
   * Moves the pages of a {@link BlockKind#UNIFIED} block to the side that will use them next.
   * Returns null if nothing needs to move.
   */
  default @Nullable Event prefetch(Block block, long offset, long bytes, boolean toDevice) {
    return null;
  }

  /**
   * Closes the queue after its commands have ended. Idempotent; must not fail if the device is
   * lost.
   */
  @Override
  void close();
}
