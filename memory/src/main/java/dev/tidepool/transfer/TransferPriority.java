package dev.tidepool.transfer;

/**
 * Which transfer goes first where transfers wait for each other: in the queue of those that are
 * ready, and between the chunks of those that are on their way. The order of work on one buffer
 * comes first. A transfer that was overtaken sixteen times in a row goes next, so none starves.
 */
public enum TransferPriority {
  /** May wait for everything else. */
  LOW,
  /** The priority of operations that name no other. */
  NORMAL,
  /** Goes before transfers of lower priority. */
  HIGH,
  /**
   * For a transfer that a user waits for right now. It has threads and queues of the device that
   * nothing else uses, so that it begins while bulk transfers hold all others.
   */
  CRITICAL
}
