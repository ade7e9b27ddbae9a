package dev.tidepool.runtime.storage;

import dev.tidepool.Allocation;
import dev.tidepool.pool.block.Lease;

/** Where buffers get further blocks from, besides the one that they were made with. */
public interface BlockSource {
  /** For the device's copy of a buffer that was made on the host. */
  Lease forDevice(long bytes, Object tenant);

  /** For the host's copy of one that was made on the device: page-locked while there is room. */
  Lease forHost(long bytes, Object tenant);

  /** Like {@link #forHost}, for bytes that are moved to the host to free memory on the device. */
  Lease forHostInRecovery(long bytes, Object tenant);

  /** For a buffer that comes back from a file: of the kind that it was made with. */
  Lease forReturn(long bytes, Allocation allocation, Object tenant);

  /** Returns a host block through which a caller copies that must not block. */
  Lease forCaller(long bytes, Object tenant);

  /** For bytes on their way; fails rather than free memory. */
  Lease forStaging(long bytes);
}
