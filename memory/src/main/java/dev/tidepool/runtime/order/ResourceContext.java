package dev.tidepool.runtime.order;

import dev.tidepool.spi.Device;

/** What the order of operations needs from the manager of a resource. */
public interface ResourceContext {
  /** Returns the id of the manager's accelerator. */
  String id();

  Device device();

  /** Returns the requests of the session that wait for memory. */
  MemoryWaiters waiters();

  /**
   * Returns the turn in which operations over several buffers get their memory; see {@link
   * MultiBufferAdmission}.
   */
  MultiBufferAdmission.Turn admission();
}
