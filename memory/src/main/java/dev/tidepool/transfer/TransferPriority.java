package dev.tidepool.transfer;

/**
 * Which transfer goes first if transfers compete: in the queue of ready transfers, and between the
 * chunks of running ones. The order of operations on one buffer has precedence. A transfer that was
 * overtaken sixteen times in a row goes next, so none starves.
 */
public enum TransferPriority {
  /** May wait for transfers of every other priority. */
  LOW,
  /** The priority of operations that specify none. */
  NORMAL,
  /** Goes before transfers of lower priority. */
  HIGH,
  /**
   * For a transfer that a user is waiting for. It has its own threads and queues of the device, so
   * it starts even if bulk transfers occupy all others.
   */
  CRITICAL
}
