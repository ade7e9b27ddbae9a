package dev.tidepool.cuda;

import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceOptions;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.support.FailureText;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Finds NVIDIA's devices: {@code cuda:0} and so on, in the driver's order.
 *
 * <p>Settings, as system properties or environment variables ({@code TIDEPOOL_CUDA_MANAGED}):
 *
 * <ul>
 *   <li>{@code tidepool.cuda.library}: the driver library's file
 *   <li>{@code tidepool.nvrtc}: NVRTC's file, or the folder that it is in
 *   <li>{@code tidepool.cuda.memory}: {@code auto} allocates device memory from a stream-ordered
 *       pool of its own, {@code current} from the device's current pool, which other libraries
 *       share, {@code plain} without pools
 *   <li>{@code tidepool.cuda.context}: the {@code CUcontext} of this process on which its device is
 *       opened, a number; by default the primary context
 *   <li>{@code tidepool.cuda.stream}: the {@code CUstream} of that context to which all commands of
 *       the device are submitted, a number
 *   <li>{@code tidepool.cuda.vmm}: {@code auto} maps device memory piece by piece if there is no
 *       room for it otherwise, {@code always} whenever that wastes little, {@code none} never
 *   <li>{@code tidepool.cuda.releaseThreshold}: how many freed bytes the driver's pool keeps; 0 by
 *       default, because Tidepool's pools keep blocks, and memory that they release is free for
 *       others
 *   <li>{@code tidepool.cuda.batches}: {@code auto} copies many pieces by a kernel; if that cannot
 *       be compiled, by one call if the driver has {@code cuMemcpyBatchAsync} and is not known to
 *       fail with it. {@code always} uses that call whenever the driver has it; {@code none} uses a
 *       call for each piece
 *   <li>{@code tidepool.cuda.managed}: {@code auto}, or {@code none} to use no managed memory
 *   <li>{@code tidepool.cuda.cache}: the folder where compiled kernels are kept, or {@code none}
 * </ul>
 */
public final class CudaProvider implements AcceleratorProvider {
  /** Creates a provider for the service loader; does not search for devices yet. */
  public CudaProvider() {}

  @Override
  public String name() {
    return "cuda";
  }

  @Override
  public Discovery discover() {
    return discover(DeviceOptions.defaults());
  }

  @Override
  public Discovery discover(DeviceOptions options) {
    Installed installed = Installed.look();
    List<String> notes = new ArrayList<>(installed.notes());
    List<Device> devices = new ArrayList<>();
    if (!installed.devices().isEmpty()) {
      Settings settings = Settings.read(notes).within(options);
      Optional<AdoptedContext> adopted = AdoptedContext.read();
      adopted.ifPresent(found -> requireOneOf(installed, found));
      for (DeviceProperties properties : installed.devices()) {
        String id = name() + ":" + devices.size();
        try {
          devices.add(
              CudaDevice.open(
                  id,
                  properties,
                  installed.driver(),
                  settings,
                  adopted.filter(found -> found.context().device() == properties.handle())));
        } catch (RuntimeException broken) {
          notes.add(
              properties.name() + " cannot be opened and is left out: " + FailureText.of(broken));
        }
      }
      Nvrtc.absence().ifPresent(notes::add);
    }
    return new Discovery(devices, notes);
  }

  private static void requireOneOf(Installed installed, AdoptedContext adopted) {
    int device = adopted.context().device();
    if (installed.devices().stream().noneMatch(found -> found.handle() == device)) {
      throw new IllegalArgumentException(
          "tidepool.cuda.context is of device " + device + ", which cannot be used here");
    }
  }
}
