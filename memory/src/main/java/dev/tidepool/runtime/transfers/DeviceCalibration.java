package dev.tidepool.runtime.transfers;

import dev.tidepool.Capability;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.host.CacheFolder;
import dev.tidepool.link.Calibrator;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.reclaim.BlockAllocator;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceInfo;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.transfer.TransferCalibration;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;

/** Decides when the device of a manager is calibrated, and keeps the results in a file. */
public final class DeviceCalibration {
  private final ManagerContext context;
  private final BlockAllocator blocks;
  private final List<Device> devices;
  private final Function<Device, DeviceCalibration> byDevice;

  /**
   * Creates the calibration of a manager, without results.
   *
   * @param devices all of the session, whose memory takes part in measurements
   * @param byDevice returns the calibration of the default manager of a device; throws an {@code
   *     IllegalStateException} if the session is closed
   */
  public DeviceCalibration(
      ManagerContext context,
      BlockAllocator blocks,
      List<Device> devices,
      Function<Device, DeviceCalibration> byDevice) {
    this.context = context;
    this.blocks = blocks;
    this.devices = devices;
    this.byDevice = byDevice;
  }

  /**
   * Uses the results of an earlier run, or takes only the short measurements. Without results the
   * paths have a fixed order, so a failure only costs speed.
   */
  public void whenWorthwhile() {
    if (!context.options().calibration()
        || sharesMemory()
        || context.link().calibration() != null) {
      return;
    }
    try {
      Optional<TransferCalibration> kept = kept();
      if (kept.isPresent()) {
        context.link().calibrated(kept.get());
      } else {
        use(measure(false, List.of()));
      }
    } catch (RuntimeException e) {
      FailureLog.debug(context.id() + " could not be calibrated", e);
    }
  }

  TransferCalibration measure() {
    if (sharesMemory()) {
      throw new UnsupportedOperationException(
          context.id()
              + " uses the host's memory, so nothing is transferred that could be measured");
    }
    List<Scratch> peers = peers();
    try {
      return use(
          measure(
              true,
              peers.stream()
                  .map(
                      peer ->
                          new Calibrator.Peer(
                              peer.owner.context.device().info().name(), peer.lease.block()))
                  .toList()));
    } finally {
      peers.forEach(Scratch::close);
    }
  }

  /** Device memory of another manager. That manager does not end while the memory is in use. */
  private record Scratch(DeviceCalibration owner, Lease lease) implements AutoCloseable {
    @Override
    public void close() {
      try {
        lease.release();
      } finally {
        owner.context.state().finish();
      }
    }
  }

  /** Measures with memory from the pools, within the limit. */
  private TransferCalibration measure(boolean thorough, List<Calibrator.Peer> peers) {
    Lease scratch = blocks.forMeasuring(Calibrator.SCRATCH_BYTES, thorough);
    try {
      Calibrator calibrator =
          new Calibrator(
              context.device(),
              (bytes, pinned) -> blocks.forMeasuring(bytes, pinned, thorough),
              thorough);
      return calibrator.measure(scratch.block(), peers);
    } finally {
      scratch.release();
    }
  }

  private boolean sharesMemory() {
    return context.device().info().can(Capability.SHARED_MEMORY);
  }

  /** Allocates memory on the devices that this one copies from, if their managers have enough. */
  private List<Scratch> peers() {
    List<Scratch> peers = new ArrayList<>();
    try {
      for (Device other : devices) {
        if (!other.equals(context.device()) && context.device().copiesFrom(other)) {
          scratch(other).ifPresent(peers::add);
        }
      }
      return peers;
    } catch (RuntimeException | Error e) {
      peers.forEach(Scratch::close);
      throw e;
    }
  }

  private Optional<Scratch> scratch(Device device) {
    DeviceCalibration owner;
    try {
      owner = byDevice.apply(device);
      owner.context.state().begin();
    } catch (IllegalStateException closed) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          new Scratch(owner, owner.blocks.forMeasuring(Calibrator.PEER_BYTES, false)));
    } catch (RuntimeException | Error e) {
      owner.context.state().finish();
      if (e instanceof OutOfDeviceMemoryException) {
        FailureLog.debug(owner.context.id() + " has no room to be measured with", e);
        return Optional.empty();
      }
      throw e;
    }
  }

  private TransferCalibration use(TransferCalibration measured) {
    context.link().calibrated(measured);
    folder().put(file(), CalibrationText.of(key(), measured).getBytes(StandardCharsets.UTF_8));
    return measured;
  }

  private Optional<TransferCalibration> kept() {
    return folder()
        .get(file())
        .flatMap(bytes -> CalibrationText.parse(key(), new String(bytes, StandardCharsets.UTF_8)));
  }

  private CacheFolder folder() {
    return context
        .options()
        .cacheDirectory()
        .map(CacheFolder::new)
        .orElseGet(() -> CacheFolder.named("calibration"));
  }

  private String file() {
    return UUID.nameUUIDFromBytes(key().getBytes(StandardCharsets.UTF_8)) + ".txt";
  }

  /** Returns all that the results depend on, the machine too: caches move between machines. */
  private String key() {
    DeviceInfo device = context.device().info();
    return String.join(
        " | ",
        device.name(),
        device.driver(),
        machine(),
        System.getProperty("os.arch"),
        Integer.toString(Runtime.getRuntime().availableProcessors()));
  }

  private static String machine() {
    try {
      return Files.readString(Path.of("/etc/machine-id")).strip();
    } catch (IOException e) {
      return System.getProperty("os.name") + " " + System.getProperty("os.version");
    }
  }
}
