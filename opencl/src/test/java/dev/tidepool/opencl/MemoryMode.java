package dev.tidepool.opencl;

import dev.tidepool.spi.Device;
import dev.tidepool.spi.HostAccess;
import java.util.Map;

/**
 * The ways in which one and the same driver can be used, each as another kind of hardware would.
 */
enum MemoryMode {
  FINE_SHARED_POINTERS(Map.of("tidepool.opencl.svm", "fine"), HostAccess.DIRECT, true),
  COARSE_SHARED_POINTERS(Map.of("tidepool.opencl.svm", "coarse"), HostAccess.MAPPED, true),
  SHARED_BUFFERS(Map.of("tidepool.opencl.svm", "none"), HostAccess.MAPPED, true),
  DISCRETE(Map.of("tidepool.opencl.sharedMemory", "false"), HostAccess.NONE, true),
  DISCRETE_COARSE(
      Map.of("tidepool.opencl.sharedMemory", "false", "tidepool.opencl.svm", "coarse"),
      HostAccess.NONE,
      true),
  DISCRETE_WITHOUT_POINTERS(
      Map.of("tidepool.opencl.sharedMemory", "false", "tidepool.opencl.svm", "none"),
      HostAccess.NONE,
      false);

  final Map<String, String> settings;
  final HostAccess hostAccess;
  final boolean unified;

  MemoryMode(Map<String, String> settings, HostAccess hostAccess, boolean unified) {
    this.settings = settings;
    this.hostAccess = hostAccess;
    this.unified = unified;
  }

  Device open() {
    return Pocl.device(settings);
  }
}
