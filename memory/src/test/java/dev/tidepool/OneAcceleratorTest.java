package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** What is opened for one accelerator loads the drivers of that kind alone. */
class OneAcceleratorTest {
  private final AtomicInteger discoveries = new AtomicInteger();

  private final AcceleratorProvider other =
      new AcceleratorProvider() {
        @Override
        public String name() {
          return "other";
        }

        @Override
        public Discovery discover() {
          discoveries.incrementAndGet();
          return new Discovery(List.of(), List.of("other: no devices"));
        }
      };

  private final AcceleratorProvider processor =
      new AcceleratorProvider() {
        @Override
        public String name() {
          return "processor";
        }

        @Override
        public boolean offersOnlyTheCpu() {
          return true;
        }

        @Override
        public Discovery discover() {
          discoveries.incrementAndGet();
          return new Discovery(List.of(), List.of());
        }
      };

  private UnifiedMemoryManager created(String accelerator) {
    return Discovery.using(List.of(other), () -> UnifiedMemoryManager.create(accelerator));
  }

  @Test
  void theCpuNeedsNoDriver() {
    for (String name : List.of("cpu:0", "cpu")) {
      try (UnifiedMemoryManager memory = created(name);
          UnifiedBuffer<int[]> x = memory.copyOf(new int[] {1, 2})) {
        assertThat(memory.accelerator().id()).isEqualTo("cpu:0");
        assertThat(x.length()).isEqualTo(2);
      }
    }
    assertThat(discoveries).hasValue(0);
  }

  @Test
  void aTidepoolHasTheAcceleratorsOfOneKindAndTheCpu() {
    try (Tidepool tidepool = Discovery.using(List.of(other), () -> Tidepool.open("cpu:0"))) {
      assertThatThrownBy(() -> tidepool.accelerator("other:0"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("that Tidepool.open(name) did not name");
      assertThat(tidepool.memory(tidepool.accelerator("cpu:0")).accelerator().id())
          .isEqualTo("cpu:0");
      assertThat(tidepool.notes()).isEmpty();
    }
    assertThat(discoveries).hasValue(0);
    try (Tidepool tidepool =
        Discovery.using(List.of(other, processor), () -> Tidepool.open("auto"))) {
      assertThat(tidepool.notes()).containsExactly("other: no devices");
    }
    assertThat(discoveries).hasValue(1);
    assertThatThrownBy(() -> Discovery.using(List.of(other), () -> Tidepool.open("other")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(
            "no accelerator 'other'; this machine has cpu:0 (write an id, its kind, or auto);"
                + " other: no devices");
    assertThatThrownBy(() -> Discovery.using(List.of(), () -> Tidepool.open("cuda")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("no accelerator 'cuda'", "tidepool-cuda", "META-INF/services");
  }

  @Test
  void theBestIsLookedForEverywhere() {
    try (UnifiedMemoryManager memory = created("auto")) {
      assertThat(memory.accelerator().id()).isEqualTo("cpu:0");
    }
    assertThat(discoveries).hasValue(1);
  }

  @Test
  void theBestIsNeverAnotherDriverOfTheProcessor() {
    try (UnifiedMemoryManager memory =
        Discovery.using(List.of(processor), () -> UnifiedMemoryManager.create())) {
      assertThat(memory.accelerator().id()).isEqualTo("cpu:0");
    }
    assertThat(discoveries).hasValue(0);
  }

  @Test
  void aConditionChoosesAmongAllThatIsThere() {
    Predicate<Accelerator> exact = each -> each.capabilities().contains(Capability.FLOAT64);
    try (UnifiedMemoryManager memory =
        Discovery.using(
            List.of(other, processor),
            () -> UnifiedMemoryManager.create(exact, MemoryOptions.defaults()))) {
      assertThat(memory.accelerator().id()).isEqualTo("cpu:0");
    }
    assertThat(discoveries).hasValue(2);
    try (Tidepool tidepool = Discovery.using(List.of(other), () -> Tidepool.open())) {
      assertThat(tidepool.accelerator(exact)).isEqualTo(tidepool.accelerator("cpu:0"));
      assertThatThrownBy(() -> tidepool.accelerator(each -> each.kind() == AcceleratorKind.GPU))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("no accelerator satisfies the condition; this machine has cpu:0")
          .hasMessageContaining("other: no devices");
    }
  }

  @Test
  void whatIsAbsentIsSaidWithAllThatIsThere() {
    for (String absent : List.of("other:0", "other", "cpu:1", "gpu")) {
      assertThatThrownBy(() -> created(absent))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("no accelerator '" + absent + "'")
          .hasMessageContaining("cpu:0")
          .hasMessageContaining("other: no devices");
    }
  }
}
