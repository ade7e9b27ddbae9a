package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A provider that fails costs its own devices, and leaves none of the others' open. */
@Timeout(240)
class FailingProvidersTest {
  /** Calls in a row that no allocation failed in until the last allocation was seen. */
  private static final int ENOUGH = 3;

  @TempDir private Path directory;

  /** Begins to count the allocations when another provider has found its devices. */
  private record FillingUp(SimulatedProvider provider, int allocations)
      implements AcceleratorProvider {
    @Override
    public String name() {
      return provider.name();
    }

    @Override
    public Discovery discover() {
      Discovery found = provider.discover();
      FullHeap.fillUpAfter(allocations, false);
      return found;
    }
  }

  private record Failing(Throwable failure) implements AcceleratorProvider {
    @Override
    public String name() {
      return "failing";
    }

    @Override
    public Discovery discover() {
      if (failure instanceof Error error) {
        throw error;
      }
      throw (RuntimeException) failure;
    }
  }

  private static Tidepool open(SimulatedProvider first, Throwable second) {
    MemoryOptions options = MemoryOptions.defaults();
    return Discovery.using(List.of(first, new Failing(second)), () -> Tidepool.open(options));
  }

  private static void assertClosed(SimulatedProvider simulated) {
    for (SimulatedDevice device : simulated.devices()) {
      assertThat(device.ledger().calls(SpiCall.CLOSE_DEVICE)).isPositive();
    }
  }

  @Test
  void anExceptionIsANote() {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    try (Tidepool tidepool = open(simulated, new IllegalStateException("on purpose"))) {
      assertThat(tidepool.accelerators()).hasSize(2);
      assertThat(tidepool.notes())
          .contains("failing: discovery failed: java.lang.IllegalStateException: on purpose");
    }
  }

  @Test
  void anErrorIsThrownAndTheDevicesOfOthersAreClosed() {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    assertThatThrownBy(() -> open(simulated, new AssertionError("on purpose")))
        .isInstanceOf(AssertionError.class)
        .hasMessage("on purpose");
    assertThat(simulated.devices()).hasSize(1);
    assertClosed(simulated);
  }

  @Test
  void aFullHeapLeavesNoDeviceOpen() throws Exception {
    FullHeap.run(Scenario.class, boolean.class, false);
  }

  /** Opens a Tidepool, with a library whose heap can be full. */
  static final class Scenario implements Callable<Void> {
    Scenario(boolean ignored) {}

    @Override
    public Void call() {
      int clean = 0;
      for (int number = 0; clean < ENOUGH; number++) {
        SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
        Tidepool tidepool = null;
        boolean failed;
        try {
          tidepool =
              Discovery.using(
                  List.of(new FillingUp(simulated, number)),
                  () -> Tidepool.open(MemoryOptions.defaults()));
        } catch (OutOfMemoryError full) {
          // There is no Tidepool.
        } finally {
          failed = FullHeap.clear();
        }
        if (tidepool != null) {
          tidepool.close();
        }
        clean = failed ? 0 : clean + 1;
        assertClosed(simulated);
      }
      return null;
    }
  }

  /** A provider whose constructor fails. */
  public static final class Unmakeable implements AcceleratorProvider {
    public Unmakeable() {
      throw new IllegalStateException("on purpose");
    }

    @Override
    public String name() {
      return "unmakeable";
    }

    @Override
    public Discovery discover() {
      throw new AssertionError("there is none");
    }
  }

  /** Opens a Tidepool in another process, and prints what it notes. */
  static final class Notes {
    private Notes() {}

    public static void main(String[] arguments) {
      try (Tidepool tidepool = Tidepool.open()) {
        tidepool.notes().forEach(System.out::println);
        System.out.println(tidepool.accelerators());
      }
    }
  }

  @Test
  void providersThatCannotBeLoadedAreNotes() throws Exception {
    Path services = Files.createDirectories(directory.resolve("META-INF/services"));
    Files.writeString(
        services.resolve(AcceleratorProvider.class.getName()),
        "no.such.Provider\n" + Unmakeable.class.getName() + "\n");
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                directory + File.pathSeparator + System.getProperty("java.class.path"),
                Notes.class.getName())
            .redirectErrorStream(true)
            .start();
    String output = new String(process.getInputStream().readAllBytes());
    assertThat(process.waitFor()).as(output).isZero();
    assertThat(output)
        .containsPattern("a provider cannot be loaded: .*no\\.such\\.Provider")
        .containsPattern("a provider cannot be loaded: .*Unmakeable.*on purpose")
        .contains("cpu:0");
  }
}
