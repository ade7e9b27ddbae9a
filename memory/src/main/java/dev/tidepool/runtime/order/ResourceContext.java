package dev.tidepool.runtime.order;

import dev.tidepool.spi.Device;

/** What the order of operations asks of the manager of a resource. */
public interface ResourceContext {
  /** Returns the id of the manager's accelerator. */
  String id();

  Device device();

  /** Returns the requests of the session that wait for memory. */
  MemoryWaiters waiters();

  /**
   * Returns whose turn it is to find memory for work over several buffers; see {@link
   * MultiBufferAdmission}.
   */
  MultiBufferAdmission.Turn placing();
}
