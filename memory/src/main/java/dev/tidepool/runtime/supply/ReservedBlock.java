package dev.tidepool.runtime.supply;

import dev.tidepool.spi.Block;

/**
 * A block that counts against a reservation until it is freed. The device gets the {@linkplain
 * #whole() block} itself.
 */
record ReservedBlock(Block block, DeviceReservation reservation, long charged)
    implements ForwardingBlock {
  /** A block that its caller has just got, and that a full heap does not lose. */
  static ReservedBlock over(Block block, DeviceReservation reservation, long charged) {
    try {
      return new ReservedBlock(block, reservation, charged);
    } catch (OutOfMemoryError e) {
      block.free();
      throw e;
    }
  }

  @Override
  public void free() {
    reservation.freeing(charged);
    try {
      block.free();
    } finally {
      reservation.freed(charged);
    }
  }
}
