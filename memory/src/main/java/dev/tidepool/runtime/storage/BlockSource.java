package dev.tidepool.runtime.storage;

import dev.tidepool.Allocation;
import dev.tidepool.pool.block.Lease;

/** The source of further blocks for buffers, besides their first block. */
public interface BlockSource {
  /** Returns a block for the device's copy of a buffer on the host. */
  Lease forDevice(long bytes, Object tenant);

  /** Returns a block for the host's copy of a buffer on the device, page-locked if possible. */
  Lease forHost(long bytes, Object tenant);

  /** Like {@link #forHost}, but for bytes that move to the host to free memory of the device. */
  Lease forHostInRecovery(long bytes, Object tenant);

  /** Returns a block for a buffer that returns from a file, of its original kind. */
  Lease forReturn(long bytes, Allocation allocation, Object tenant);

  /** Returns a host block for a copy whose caller must not block. */
  Lease forCaller(long bytes, Object tenant);

  /** Returns a staging block for a transfer; fails instead of freeing memory. */
  Lease forStaging(long bytes);
}
