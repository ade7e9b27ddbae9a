package dev.tidepool.opencl;

import dev.tidepool.AcceleratorException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One driver and the context that its devices share, so that bytes can be copied directly from one
 * device to another. If a driver cannot put all its devices into one context, each gets one of its
 * own.
 *
 * <p>The shared context exists while at least one device is open; if the driver cannot release it
 * safely, it exists until the process ends. The monitor guards the choice of the shared context.
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

  /** Returns the context for a device that is being opened; release it with {@link #letGo}. */
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
