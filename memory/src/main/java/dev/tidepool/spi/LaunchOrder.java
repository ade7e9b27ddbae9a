package dev.tidepool.spi;

/** What keeps launches in order that use each other's results. */
public enum LaunchOrder {
  /**
   * The host: a launch is submitted when those that it depends on have ended. This is for devices
   * that compute on the thread that launches, and for drivers that promise no more.
   */
  HOST,

  /**
   * A queue: {@link Queue#launch} returns without waiting for the device, and launches of one queue
   * run one after another.
   */
  IN_QUEUE,

  /**
   * The device: what {@link #IN_QUEUE} says holds, and a queue waits for commands of another queue
   * of the device without blocking the host ({@link Queue#after}, {@link Queue#launch(Launch,
   * java.util.List)}).
   */
  ACROSS_QUEUES
}
