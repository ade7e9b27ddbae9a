package dev.tidepool.pool.block;

import java.util.List;

/** Moves the contents of blocks that are not in use to other blocks. */
@FunctionalInterface
public interface BlockMover {
  /**
   * Contents that change their block.
   *
   * @param from a block that is in use
   * @param to a block of the same class, taken for it
   */
  record Move(PooledBlock from, PooledBlock to) {}

  /**
   * Makes all of the moves, if that can be done without waiting for another thread, or none. Never
   * throws.
   *
   * @return whether they were made: then each {@code from} is the caller's, and each {@code to} its
   *     tenant's; if not, everything is as it was
   */
  boolean move(List<Move> moves);
}
