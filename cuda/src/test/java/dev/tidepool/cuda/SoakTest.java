package dev.tidepool.cuda;

import dev.tidepool.testkit.AcceleratorSoak;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;

/** A soak of one device and of two. */
@Tag("pageable") // some transfers ask for plain memory
final class SoakTest extends AcceleratorSoak {
  private static final long SMALLEST = 2L << 20;

  private final Map<ObjectKind, Long> before = Simulation.liveObjects();

  @Override
  protected Machine machine(SplittableRandom random) {
    int devices = 1 + random.nextInt(2);
    int concurrentAccess = random.nextInt(2);
    var simulated = Simulation.with(devices);
    simulated.setAll("memory", SMALLEST << random.nextInt(3));
    simulated.setAll("attribute." + Simulation.CONCURRENT_MANAGED_ACCESS, concurrentAccess);
    return new Machine(
        new CudaProvider(),
        "cuda:" + random.nextInt(devices),
        "concurrent managed access " + concurrentAccess);
  }

  @Override
  protected void verifyAfterRound() {
    Simulation.assertCleanBut(before, false);
  }
}
