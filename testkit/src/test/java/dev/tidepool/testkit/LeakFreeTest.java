package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.testkit.engine.EventConditions.finishedWithFailure;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.instanceOf;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.message;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.support.ManagerObserver;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import org.assertj.core.api.Condition;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

class LeakFreeTest {
  private static Events run(Class<?> tests) {
    return EngineTestKit.engine("junit-jupiter")
        .selectors(selectClass(tests))
        .execute()
        .testEvents();
  }

  @LeakFree(accelerator = "cpu:0")
  static class TidyCase {
    @Test
    void closesWhatItOpens(UnifiedMemoryManager memory, Tidepool tidepool) {
      assertThat(tidepool.memory(memory.accelerator())).isSameAs(memory);
      try (UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 10)) {
        buffer.fill((byte) 0);
        buffer.copyFromAsync(new float[10]);
      }
    }
  }

  @LeakFree(accelerator = "cpu:0")
  static class LeakyCase {
    @Test
    void leavesABufferOpen(UnifiedMemoryManager memory) {
      memory.allocate(
          ElementType.FLOAT, 250, Allocation.at(MemoryLocation.HOST).tag("the forgotten one"));
    }
  }

  static class FieldCase {
    UnifiedMemoryManager memory;

    @BeforeEach
    void open() {
      memory = UnifiedMemoryManager.create();
      memory.allocate(ElementType.BYTE, 1, Allocation.at(MemoryLocation.HOST).tag("set up"));
    }

    @AfterEach
    void close() {
      memory.close();
    }

    @Test
    @LeakFree
    void leavesABufferOpen() {
      memory.allocate(ElementType.INT, 3, Allocation.at(MemoryLocation.HOST).tag("lost"));
    }

    @Test
    @LeakFree
    void closesItsOwn() {
      memory.allocate(ElementType.INT, 3).close();
    }
  }

  @LeakFree(accelerator = "cpu:0")
  static class FailingCase {
    @Test
    void failsForAReasonOfItsOwn(UnifiedMemoryManager memory) {
      memory.allocate(ElementType.FLOAT, 250);
      throw new UnsupportedOperationException("its own");
    }
  }

  @LeakFree(accelerator = "cpu:0")
  static class OuterCase {
    @Nested
    class Inner {
      @Test
      void hasTheAcceleratorOfTheClassAround(UnifiedMemoryManager memory) {
        assertThat(memory.accelerator().id()).isEqualTo("cpu:0");
      }
    }
  }

  @LeakFree
  static class OwnManagerCase {
    @Test
    void closesItsManagerBeforeTheBuffer() {
      try (UnifiedMemoryManager own = UnifiedMemoryManager.create("cpu:0")) {
        own.allocate(ElementType.INT, 3, Allocation.at(MemoryLocation.HOST).tag("closed under"));
      }
    }

    @Test
    void closesNeither() {
      UnifiedMemoryManager.create("cpu:0")
          .allocate(ElementType.INT, 3, Allocation.at(MemoryLocation.HOST).tag("never closed"));
    }

    @Test
    void opensATidepool() {
      try (Tidepool own = Tidepool.open()) {
        own.memory(own.accelerator("cpu:0"))
            .allocate(ElementType.INT, 3, Allocation.at(MemoryLocation.HOST).tag("of a Tidepool"));
      }
    }

    @Test
    void opensItOnAnotherThread() throws InterruptedException {
      Thread other =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try (UnifiedMemoryManager own = UnifiedMemoryManager.create("cpu:0")) {
                      own.allocate(
                          ElementType.INT,
                          3,
                          Allocation.at(MemoryLocation.HOST).tag("of another thread"));
                    }
                  });
      other.join();
    }

    @Test
    void closesBoth() {
      try (UnifiedMemoryManager own = UnifiedMemoryManager.create("cpu:0")) {
        own.allocate(ElementType.INT, 3).close();
      }
    }
  }

  @LeakFree(accelerator = "cpu:0")
  static class ParameterCase {
    private static @Nullable UnifiedMemoryManager provided;

    @Test
    void keepsItsManager(UnifiedMemoryManager memory) {
      provided = memory;
    }
  }

  @LeakFree(accelerator = "cpu:0")
  static class ConstructorCase {
    private static final List<UnifiedMemoryManager> PROVIDED = new CopyOnWriteArrayList<>();

    private final UnifiedMemoryManager memory;

    ConstructorCase(UnifiedMemoryManager memory) {
      this.memory = memory;
      PROVIDED.add(memory);
    }

    @Test
    void leavesABufferOpen() {
      memory.allocate(ElementType.INT, 3);
    }

    @Test
    void hasOneOfItsOwn(UnifiedMemoryManager other) {
      assertThat(other).isSameAs(memory);
    }
  }

  @LeakFree(accelerator = "nope:7")
  static class UnknownAcceleratorCase {
    @Test
    void neverBegins(UnifiedMemoryManager memory) {}
  }

  static class FailingExtension implements BeforeEachCallback {
    @Override
    public void beforeEach(ExtensionContext context) {
      throw new UnsupportedOperationException("its own");
    }
  }

  @ExtendWith(FailingExtension.class)
  @LeakFree
  static class FailingExtensionCase {
    @Test
    void neverBegins() {}
  }

  @Test
  void eachTestHasItsOwnManagerFromTheConstructorToo() {
    ConstructorCase.PROVIDED.clear();
    run(ConstructorCase.class).assertStatistics(tests -> tests.started(2).succeeded(1).failed(1));
    assertThat(ConstructorCase.PROVIDED).hasSize(2).doesNotHaveDuplicates();
  }

  @Test
  void nothingStaysOpenWhereThereIsNoSuchAccelerator() {
    FaultInjector devices = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
    Discovery.using(List.of(devices), () -> run(UnknownAcceleratorCase.class))
        .assertStatistics(tests -> tests.failed(1));
    assertThat(devices.callsByKind()).containsEntry(SpiCall.CLOSE_DEVICE, 1L);
  }

  @Test
  void aTestThatNeverBeganFailsWithItsOwnReason() {
    run(FailingExtensionCase.class)
        .assertThatEvents()
        .haveExactly(
            1,
            finishedWithFailure(
                instanceOf(UnsupportedOperationException.class),
                new Condition<>(error -> error.getSuppressed().length == 0, "nothing beside it")));
  }

  @Test
  void aNestedTestHasTheAcceleratorOfTheClassAroundIt() {
    SimulatedProvider better = new SimulatedProvider(SimulatedHardware.discrete());
    Discovery.using(List.of(better), () -> run(OuterCase.class))
        .assertStatistics(tests -> tests.started(1).succeeded(1));
    assertThat(better.devices()).isNotEmpty();
  }

  @Test
  void aTestThatClosesItsBuffersPasses() {
    run(TidyCase.class).assertStatistics(tests -> tests.started(1).succeeded(1));
  }

  @Test
  void aTestThatLeavesABufferOpenFailsWithItsTagBytesAndSite() {
    run(LeakyCase.class)
        .assertThatEvents()
        .haveExactly(
            1,
            finishedWithFailure(
                instanceOf(AssertionError.class),
                message(
                    text ->
                        text.contains("'the forgotten one': FLOAT[250], 1000 bytes in HOST")
                            && text.contains("of cpu:0")
                            && text.contains("leavesABufferOpen"))));
  }

  @Test
  void managersInFieldsAreCheckedForWhatTheTestMethodOpened() {
    Events events = run(FieldCase.class);
    events.assertStatistics(tests -> tests.started(2).succeeded(1).failed(1));
    events
        .assertThatEvents()
        .haveExactly(
            1,
            finishedWithFailure(
                message(text -> text.contains("'lost'") && !text.contains("set up"))));
  }

  @Test
  void managersThatTheTestOpensItselfAreChecked() {
    Events events = run(OwnManagerCase.class);
    events.assertStatistics(tests -> tests.started(5).succeeded(1).failed(4));
    for (String tag :
        List.of("closed under", "never closed", "of a Tidepool", "of another thread")) {
      events
          .assertThatEvents()
          .haveExactly(
              1,
              finishedWithFailure(
                  instanceOf(AssertionError.class),
                  message(
                      text ->
                          text.startsWith("the test left 1 buffer open")
                              && text.contains("'" + tag + "': INT[3]"))));
    }
  }

  @Test
  void nothingIsWatchedAfterTheTest() {
    run(OwnManagerCase.class);
    assertThat(ManagerObserver.installed()).isNull();
  }

  @Test
  void theManagerOfAParameterIsClosedAfterTheTest() {
    run(ParameterCase.class).assertStatistics(tests -> tests.started(1).succeeded(1));
    UnifiedMemoryManager provided = Objects.requireNonNull(ParameterCase.provided);
    assertThatIllegalStateException().isThrownBy(() -> provided.allocate(ElementType.INT, 1));
  }

  @Test
  void aTestThatFailedAnywayFailsWithItsOwnReason() {
    run(FailingCase.class)
        .assertThatEvents()
        .haveExactly(1, finishedWithFailure(instanceOf(UnsupportedOperationException.class)));
  }
}
