package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Tidepool;
import dev.tidepool.testkit.AcceleratorConformance;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;

/** What every accelerator promises, on the first card of this machine and each way to use it. */
class CardConformanceTest {
  abstract static class OnCard extends AcceleratorConformance {
    private final Map<String, String> settings;
    private final Map<ObjectKind, Long> before = Simulation.liveObjects();

    OnCard(Map<String, String> settings) {
      this.settings = settings;
    }

    @Override
    protected String accelerator() {
      return "cuda:0";
    }

    @Override
    protected Tidepool open() {
      return Simulation.under(settings(), () -> Simulation.open(new CudaProvider()));
    }

    /** What is set when a Tidepool is opened. */
    Map<String, String> settings() {
      return settings;
    }

    @Override
    protected void verifyAfterAll() {
      assertThat(Simulation.liveObjects()).as("live objects").isEqualTo(before);
    }
  }

  @Nested
  class AsItIs extends OnCard {
    AsItIs() {
      super(Map.of());
    }
  }

  @Nested
  class WithoutMemoryPools extends OnCard {
    WithoutMemoryPools() {
      super(Map.of("tidepool.cuda.memory", "plain"));
    }
  }

  @Nested
  class FromTheCurrentPool extends OnCard {
    FromTheCurrentPool() {
      super(Map.of("tidepool.cuda.memory", "current"));
    }
  }

  /** One stream of another library for all queues. */
  @Nested
  class OnOneStream extends OnCard {
    private @Nullable Library library;

    OnOneStream() {
      super(Map.of());
    }

    @Override
    Map<String, String> settings() {
      if (library == null) {
        library = Library.on(0);
      }
      return library.settings();
    }

    @Override
    protected void verifyAfterAll() {
      if (library != null) {
        library.close();
      }
      super.verifyAfterAll();
    }
  }

  @Nested
  class MappedPieceByPiece extends OnCard {
    MappedPieceByPiece() {
      super(Map.of("tidepool.cuda.vmm", "always"));
    }
  }

  @Nested
  class WithoutBatches extends OnCard {
    WithoutBatches() {
      super(Map.of("tidepool.cuda.batches", "none"));
    }
  }

  @Nested
  class WithoutManagedMemory extends OnCard {
    WithoutManagedMemory() {
      super(Map.of("tidepool.cuda.managed", "none"));
    }
  }
}
