package dev.tidepool.spi;

import dev.tidepool.ElementType;
import java.nio.file.Path;

/**
 * Device memory that processes of one user share by a name.
 *
 * <p>A name belongs to a folder that only this user can write to. The processes meet there: what a
 * backend keeps in it, and how it passes the memory on, is its own business. What a killed process
 * leaves in the folder is removed by the next call of any process.
 *
 * <p>Thread-safe.
 */
public interface DeviceSharing {
  /**
   * Allocates memory of kind {@link BlockKind#DEVICE}, all zero, that other processes can open once
   * this returns.
   *
   * @param folder where the processes meet
   * @param length elements, 0 or more
   * @throws IllegalArgumentException if the name is not allowed
   * @throws dev.tidepool.OutOfDeviceMemoryException if there is no room
   * @throws dev.tidepool.TransferException if the name is in use
   * @throws UnsupportedOperationException if the driver refuses to share memory
   */
  SharedBlock create(Path folder, String name, ElementType<?> type, long length);

  /**
   * Opens memory that another process, or this one, has created and that is not closed everywhere.
   * Waits for seconds at most while it is being created.
   *
   * @param whileWaiting called again and again during the wait; what it throws ends the wait
   * @throws IllegalArgumentException if the name is not allowed, the elements are of another type,
   *     or the memory is another device's
   * @throws dev.tidepool.TransferException if the name is not in use, or the memory is gone
   */
  SharedBlock open(Path folder, String name, ElementType<?> type, Runnable whileWaiting);
}
