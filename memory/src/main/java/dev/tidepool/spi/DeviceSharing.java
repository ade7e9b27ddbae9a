package dev.tidepool.spi;

import dev.tidepool.ElementType;
import java.nio.file.Path;

/**
 * Shares device memory among processes of one user, by name.
 *
 * <p>A name belongs to a folder that only this user can write to, and that all the processes use.
 * The backend decides which files it keeps there, and how it passes the memory on. The next call of
 * any process removes the files that a killed process left there.
 *
 * <p>Thread-safe.
 */
public interface DeviceSharing {
  /**
   * Allocates memory of kind {@link BlockKind#DEVICE}, all zero, that other processes can open once
   * this method has returned.
   *
   * @param folder the folder that the processes use
   * @param length the number of elements, 0 or more
   * @throws IllegalArgumentException if the name is not allowed
   * @throws dev.tidepool.OutOfDeviceMemoryException if there is no room
   * @throws dev.tidepool.TransferException if the name is in use
   * @throws UnsupportedOperationException if the driver refuses to share memory
   */
  SharedBlock create(Path folder, String name, ElementType<?> type, long length);

  /**
   * Opens memory that any process, including this one, has created and that is still open in a
   * process. Waits for some seconds at most while the memory is being created.
   *
   * @param whileWaiting called repeatedly during the wait; its exception ends the wait
   * @throws IllegalArgumentException if the name is not allowed, the elements have another type, or
   *     the memory is on another device
   * @throws dev.tidepool.TransferException if the name is not in use, or the memory no longer
   *     exists
   */
  SharedBlock open(Path folder, String name, ElementType<?> type, Runnable whileWaiting);
}
