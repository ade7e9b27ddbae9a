package dev.tidepool.pool.block;

import java.util.List;

/** Moves the contents of leased blocks that no operation is using to other blocks. */
@FunctionalInterface
public interface BlockMover {
  /**
   * The move of a tenant from one block to another.
   *
   * @param from a leased block
   * @param to a block of the same class, taken for this move
   */
  record Move(PooledBlock from, PooledBlock to) {}

  /**
   * Makes all moves if this needs no waiting for another thread, or none. Never throws.
   *
   * @return whether the moves were made. If so, the caller owns each {@code from}, and its tenant
   *     each {@code to}. If not, nothing has changed.
   */
  boolean move(List<Move> moves);
}
