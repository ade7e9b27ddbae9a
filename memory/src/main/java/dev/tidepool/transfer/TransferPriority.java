package dev.tidepool.transfer;

/**
 * Which transfer goes first where transfers wait for each other: in the queue of those that are
 * ready, and between the chunks of those that are on their way. The order of work on one buffer
 * comes before that. Starvation is excluded: what was overtaken sixteen times in a row goes next.
 */
public enum TransferPriority {
  /** May wait for everything else. */
  LOW,
  /** What every operation has that names no other. */
  NORMAL,
  /** Goes before what is not urgent. */
  HIGH,
  /**
   * Somebody waits for it right now: it has threads and queues of the device that nothing else
   * uses, so that it begins while bulk transfers hold all others.
   */
  CRITICAL
}
