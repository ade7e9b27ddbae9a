package dev.tidepool.opencl;

import dev.tidepool.AcceleratorException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One driver and the context that its devices share, so that bytes of one device can be copied to
 * another without a detour. A driver that cannot put all its devices into one context gets one for
 * each.
 *
 * <p>The shared context exists while at least one device is open, or until the process ends where
 * the driver does not survive its release. The monitor guards which context that is.
 */
final class Platform {
  private final long handle;
  private final List<DeviceProperties> devices;
  private boolean refusesToShare;
  private @Nullable Context shared;

  Platform(long handle, List<DeviceProperties> devices) {
    this.handle = handle;
    this.devices = devices;
  }

  /** Returns the {@code cl_platform_id}. */
  long handle() {
    return handle;
  }

  /**
   * Returns the context for a device that is being opened, to be given back with {@link #letGo}.
   */
  synchronized Context hold(DeviceProperties device) {
    if (shared != null) {
      return shared.held();
    }
    if (device.keepsContext()) {
      // A platform is found once, so this is one context until the process ends.
      shared = new Context(createContext());
      return shared.held();
    }
    if (devices.size() > 1 && !refusesToShare) {
      try {
        shared = new Context(createContext());
        return shared;
      } catch (AcceleratorException refused) {
        refusesToShare = true;
      }
    }
    Context own = new Context(OpenCL.clCreateContext(handle, new long[] {device.handle()}));
    if (devices.size() == 1) {
      shared = own;
    }
    return own;
  }

  /** Creates a context of all devices. */
  private long createContext() {
    return OpenCL.clCreateContext(
        handle, devices.stream().mapToLong(DeviceProperties::handle).toArray());
  }

  synchronized void letGo(Context context) {
    boolean wasLast = false;
    try {
      wasLast = context.letGo();
    } catch (AcceleratorException lost) {
      wasLast = true;
      throw lost;
    } finally {
      if (wasLast && shared == context) {
        shared = null;
      }
    }
  }
}
