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
   * Returns the turn in which work over several buffers gets its memory; see {@link
   * MultiBufferAdmission}.
   */
  MultiBufferAdmission.Turn admission();
}
