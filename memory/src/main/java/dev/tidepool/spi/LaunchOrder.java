package dev.tidepool.spi;

/** How launches that use each other's results are ordered. */
public enum LaunchOrder {
  /**
   * By the host: a launch is submitted when the launches that it depends on have ended. For devices
   * that compute on the launching thread, and for drivers that guarantee no more.
   */
  HOST,

  /**
   * By a queue: {@link Queue#launch} returns without waiting for the device, and launches of one
   * queue run one after another.
   */
  IN_QUEUE,

  /**
   * By the device: like {@link #IN_QUEUE}, and a queue also waits for commands of another queue of
   * the device without blocking the host ({@link Queue#after}, {@link Queue#launch(Launch,
   * java.util.List)}).
   */
  ACROSS_QUEUES
}
