package dev.tidepool.spark;

import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.SpiCall;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Two simulated devices in processes that have the property. The first of these processes loses its
 * devices at the third launch.
 */
public final class LosingProvider implements AcceleratorProvider {
  /** The file that the first process makes. */
  static final String PROPERTY = "test.losing.file";

  @Override
  public String name() {
    return "simulated";
  }

  @Override
  public Discovery discover() {
    String file = System.getProperty(PROPERTY);
    if (file == null) {
      return new Discovery(List.of(), List.of());
    }
    FaultInjector faults =
        new FaultInjector(
            new SimulatedProvider(SimulatedHardware.discrete(), SimulatedHardware.discrete()));
    try {
      Files.createFile(Path.of(file));
      faults.fail(SpiCall.LAUNCH, 3, Failure.DEVICE_LOST);
    } catch (FileAlreadyExistsException e) {
      // Another process loses its devices.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return faults.discover();
  }
}
