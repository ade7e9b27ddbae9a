package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A discrete simulated device that can be held and made to fail, and a Tidepool over it.
 * {@linkplain RegisterExtension Registered} with a test, it is closed after each, and must have
 * been used well and be empty then.
 */
final class SimulatedRig implements AfterEachCallback {
  private final SimulatedProvider provider = new SimulatedProvider(SimulatedHardware.discrete());
  private final FaultInjector faults = new FaultInjector(provider);
  private final Tidepool tidepool;

  SimulatedRig(MemoryOptions.Builder options) {
    tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(options.build()));
  }

  UnifiedMemoryManager memory() {
    return tidepool.memory();
  }

  SimulatedDevice device() {
    return provider.device("simulated:0");
  }

  FaultInjector faults() {
    return faults;
  }

  /** How many calls of a kind the device has got. */
  long calls(SpiCall call) {
    return device().ledger().calls(call);
  }

  @Override
  public void afterEach(ExtensionContext context) {
    faults.disarm();
    device().resume();
    tidepool.close();
    assertThat(provider.violations()).isEmpty();
    assertThat(device().openEvents()).isZero();
    assertThat(device().liveBlocks()).isZero();
  }
}
