package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * An operation that meets the close of its manager, or of its Tidepool: either it succeeds and what
 * it made is freed, or it fails and says that the manager is closed; and close() returns when no
 * call of a driver is under way.
 */
@Timeout(120)
class OperationsDuringCloseTest {
  @RegisterExtension static final QuietLog QUIET = new QuietLog();

  private static final KernelSource EXPRESSION = KernelSource.elementwise("y = x + 1");
  private static final int ROUNDS = 15;
  private static final SimulatedHardware DIRECT =
      SimulatedHardware.discrete().withHostAccess(HostAccess.DIRECT);

  @TempDir private Path folder;

  /** What an operation works with. */
  private record Scene(
      Tidepool tidepool,
      UnifiedMemoryManager memory,
      UnifiedBuffer<int[]> used,
      Kernel kernel,
      Path file,
      MemorySegment segment) {
    int[] array() {
      return new int[100];
    }
  }

  private interface Action {
    void on(Scene scene) throws IOException;
  }

  /** An operation and the call of the device that it makes. */
  private enum Operation {
    COMPILE("compile", false, scene -> scene.memory().compile(javaKernel(new AtomicInteger()))),
    FIRST_RUN(
        "compile",
        false,
        scene -> scene.kernel().execute(Arguments.of("x", scene.array(), "y", scene.array()))),
    FIRST_RUN_LATER(
        "compile",
        false,
        scene ->
            scene
                .kernel()
                .executeAsync(Arguments.of("x", scene.array(), "y", scene.array()))
                .join()),
    ALLOCATE("allocate", false, scene -> scene.memory().allocate(ElementType.INT, 100_000)),
    ALLOCATE_ZEROED(
        "allocate",
        false,
        scene ->
            scene
                .memory()
                .allocate(ElementType.INT, 100_000, Allocation.at(MemoryLocation.DEVICE).zeroed())),
    ALLOCATE_LATER(
        "allocate",
        false,
        scene ->
            scene
                .memory()
                .allocateAsync(ElementType.INT, 100_000, Allocation.at(MemoryLocation.DEVICE))
                .join()),
    COPY_OF("allocate", false, scene -> scene.memory().copyOf(new int[100_000])),
    WRAP("adopt", true, scene -> scene.memory().wrap(ElementType.INT, scene.segment())),
    WRAP_LOCKED(
        "lock",
        false,
        scene -> scene.memory().wrap(ElementType.INT, scene.segment(), MemoryLocation.PINNED)),
    MAP(
        "adopt",
        true,
        scene -> scene.memory().map(scene.file(), ElementType.INT, MapMode.READ_WRITE)),
    CREATE_SHARED(
        "adopt", true, scene -> scene.memory().createShared(ElementType.INT, 100, "racing")),
    FIRST_COPY("createUrgentQueue", false, scene -> scene.used().copyFrom(scene.array())),
    CALIBRATE("createUrgentQueue", false, scene -> scene.memory().transfers().calibrate()),
    FRAGMENTATION("memory", false, scene -> scene.memory().fragmentation()),
    ACCELERATOR_MEMORY("memory", false, scene -> scene.memory().accelerator().memory()),
    FURTHER_MANAGER(
        "memory",
        false,
        scene -> {
          MemoryOptions own = MemoryOptions.builder().maxPoolBytes(1 << 20).build();
          try (var further = UnifiedMemoryManager.create(scene.memory().accelerator(), own)) {
            further.allocate(ElementType.INT, 10);
          }
        }),
    KERNEL_BY_NAME(
        "compile",
        false,
        scene ->
            scene
                .tidepool()
                .orchestrator()
                .execute("named", Arguments.of("x", scene.array(), "y", scene.array()))),
    SNAPSHOT(null, false, scene -> scene.memory().snapshot()),
    STATISTICS(null, false, scene -> scene.memory().statistics()),
    BUFFERS(null, false, scene -> scene.memory().buffers()),
    TRIM(null, false, scene -> scene.memory().trimExcess()),
    DEFRAGMENT(null, false, scene -> scene.memory().defragment()),
    ARRAYS(null, false, scene -> scene.memory().arrays(ElementType.INT).rent(10)),
    TRANSFER(
        null,
        false,
        scene -> {
          UnifiedBuffer<int[]> other = scene.memory().allocate(ElementType.INT, 100);
          scene.memory().transfers().copyAsync(scene.used(), other).join();
        }),
    MANAGER_OF_ACCELERATOR(
        null, false, scene -> scene.tidepool().memory(scene.tidepool().accelerators().getLast()));

    private final @Nullable String call;
    private final boolean shared;
    private final Action action;

    Operation(@Nullable String call, boolean shared, Action action) {
      this.call = call;
      this.shared = shared;
      this.action = action;
    }

    static Stream<Operation> calling() {
      return Stream.of(values()).filter(operation -> operation.call != null);
    }
  }

  private static KernelSource javaKernel(AtomicInteger counter) {
    return KernelSource.java(
        item -> counter.incrementAndGet(), KernelParameter.scalar("a", ElementType.INT));
  }

  private final SimulatedProvider discrete = new SimulatedProvider(SimulatedHardware.discrete());
  private final SimulatedProvider integrated = new SimulatedProvider(DIRECT);

  private Tidepool open(HeldCalls calls) {
    MemoryOptions options =
        MemoryOptions.builder()
            .cacheDirectory(folder.resolve("cache"))
            .sharedDirectory(folder.resolve("shared"))
            .build();
    return Discovery.using(List.of(calls), () -> Tidepool.open(options));
  }

  private Scene scene(Tidepool tidepool, Arena arena) throws IOException {
    Path file = folder.resolve("ints");
    Files.write(file, new byte[400]);
    tidepool.orchestrator().register("named", EXPRESSION);
    return new Scene(
        tidepool,
        tidepool.memory(),
        tidepool.memory().allocate(ElementType.INT, 100),
        tidepool.memory().compile(EXPRESSION),
        file,
        arena.allocate(400, 64));
  }

  /** How an operation went: null, or what it failed with. */
  private static CompletableFuture<@Nullable Throwable> start(Operation operation, Scene scene) {
    CompletableFuture<@Nullable Throwable> outcome = new CompletableFuture<>();
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                operation.action.on(scene);
                outcome.complete(null);
              } catch (CompletionException e) {
                outcome.complete(e.getCause());
              } catch (Throwable e) {
                outcome.complete(e);
              }
            });
    return outcome;
  }

  private static void assertWellEnded(@Nullable Throwable failure) {
    if (failure != null) {
      assertThat(failure)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("is closed");
    }
  }

  private static AutoCloseable closing(Scene scene, boolean all) {
    return all ? scene.tidepool() : scene.memory();
  }

  @ParameterizedTest
  @MethodSource("dev.tidepool.testkit.OperationsDuringCloseTest$Operation#calling")
  void closingAManagerWaitsForTheDriver(Operation operation) throws Exception {
    closeWhileTheDriverIsBusy(operation, false);
  }

  @ParameterizedTest
  @MethodSource("dev.tidepool.testkit.OperationsDuringCloseTest$Operation#calling")
  void closingATidepoolWaitsForTheDriver(Operation operation) throws Exception {
    closeWhileTheDriverIsBusy(operation, true);
  }

  private void closeWhileTheDriverIsBusy(Operation operation, boolean all) throws Exception {
    SimulatedProvider provider = operation.shared ? integrated : discrete;
    HeldCalls calls = new HeldCalls(provider);
    try (Arena arena = Arena.ofShared();
        Tidepool tidepool = open(calls)) {
      Scene scene = scene(tidepool, arena);
      calls.hold(String.valueOf(operation.call));
      CompletableFuture<@Nullable Throwable> outcome = start(operation, scene);
      calls.awaitArrival();
      AtomicInteger insideAtReturn = new AtomicInteger(-1);
      Thread closer =
          Thread.ofPlatform()
              .daemon()
              .start(
                  () -> {
                    try {
                      closing(scene, all).close();
                    } catch (Exception e) {
                      throw new AssertionError(e);
                    }
                    insideAtReturn.set(calls.inside());
                  });
      boolean isAskedBeside = !all && isOfTidepool(operation);
      if (!isAskedBeside) {
        awaitBlocked(closer);
      }
      calls.release();
      closer.join();
      if (!isAskedBeside) {
        assertThat(insideAtReturn.get()).as("calls under way as close() returned").isZero();
      }
      assertWellEnded(outcome.join());
    }
    assertThat(calls.misdeeds()).isEmpty();
    assertThat(provider.violations()).isEmpty();
  }

  /** Whether an operation is none of the manager that closes. */
  private static boolean isOfTidepool(Operation operation) {
    return operation == Operation.ACCELERATOR_MEMORY || operation == Operation.FURTHER_MANAGER;
  }

  /** A close that does not wait has returned by the time that this sees. */
  @SuppressWarnings("ThreadPriorityCheck") // no duration is expected
  private static void awaitBlocked(Thread closer) throws InterruptedException {
    for (int seen = 0; seen < 20 && closer.isAlive(); ) {
      Thread.State state = closer.getState();
      seen += state == Thread.State.RUNNABLE || state == Thread.State.NEW ? 0 : 1;
      Thread.sleep(1);
    }
  }

  @ParameterizedTest
  @EnumSource(Operation.class)
  void whateverComesFirstNothingIsLeft(Operation operation) throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      SimulatedProvider provider =
          new SimulatedProvider(operation.shared ? DIRECT : SimulatedHardware.discrete());
      HeldCalls calls = new HeldCalls(provider);
      try (Arena arena = Arena.ofShared();
          Tidepool tidepool = open(calls)) {
        Scene scene = scene(tidepool, arena);
        CompletableFuture<@Nullable Throwable> outcome = start(operation, scene);
        long until = System.nanoTime() + ThreadLocalRandom.current().nextInt(300_000);
        while (System.nanoTime() < until) {
          Thread.onSpinWait();
        }
        closing(scene, round % 2 == 0).close();
        assertWellEnded(outcome.join());
      }
      assertThat(calls.misdeeds()).isEmpty();
      assertThat(provider.violations()).isEmpty();
    }
  }

  @Test
  void aKernelWithoutArraysIsWaitedFor() throws Exception {
    CountDownLatch running = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    AtomicBoolean ended = new AtomicBoolean();
    AtomicBoolean endedAtReturn = new AtomicBoolean();
    KernelSource slow =
        KernelSource.java(
            item -> {
              running.countDown();
              try {
                goOn.await();
              } catch (InterruptedException e) {
                throw new AssertionError(e);
              }
              ended.set(true);
            },
            KernelParameter.scalar("a", ElementType.INT));
    try (Tidepool tidepool = open(new HeldCalls(discrete))) {
      UnifiedMemoryManager memory = tidepool.memory();
      Kernel kernel = memory.compile(slow);
      Thread runner =
          Thread.ofPlatform().start(() -> kernel.execute(Arguments.of("a", 1), LaunchRange.of(1)));
      running.await();
      Thread closer =
          Thread.ofPlatform()
              .start(
                  () -> {
                    memory.close();
                    endedAtReturn.set(ended.get());
                  });
      awaitBlocked(closer);
      goOn.countDown();
      closer.join();
      runner.join();
    }
    assertThat(endedAtReturn).isTrue();
    assertThat(discrete.violations()).isEmpty();
  }

  static Stream<Allocation> placements() {
    Allocation anywhere = Allocation.at(MemoryLocation.DEVICE);
    return Stream.of(anywhere, anywhere.hugePages());
  }

  @ParameterizedTest
  @MethodSource("placements")
  void aRefusedAllocationIsNotTriedAgainOnceTheManagerIsClosed(Allocation allocation)
      throws Exception {
    SimulatedProvider full =
        new SimulatedProvider(
            SimulatedHardware.discrete().withMemory(1 << 20).withMaximumAllocation(1 << 20));
    HeldCalls calls = new HeldCalls(full);
    try (Tidepool tidepool = open(calls)) {
      UnifiedMemoryManager memory = tidepool.memory();
      // Of another user, so that no strategy helps.
      Block all = full.device("simulated:0").allocate(1 << 20, 1, BlockKind.DEVICE);
      calls.hold("allocate");
      CompletableFuture<?> outcome =
          CompletableFuture.runAsync(() -> memory.allocate(ElementType.BYTE, 1000, allocation));
      calls.awaitArrival();
      Thread closer = Thread.ofPlatform().daemon().start(memory::close);
      await().until(() -> isClosed(memory));
      calls.release();
      assertWellEnded(outcome.handle((_, failure) -> failure.getCause()).join());
      closer.join();
      all.free();
    }
    assertThat(calls.misdeeds()).isEmpty();
    assertThat(full.violations()).isEmpty();
  }

  private static boolean isClosed(UnifiedMemoryManager memory) {
    try {
      memory.buffers();
      return false;
    } catch (IllegalStateException e) {
      return true;
    }
  }

  @Test
  void aSecondThreadThatClosesWaitsForTheFirst() throws Exception {
    for (boolean all : new boolean[] {false, true}) {
      HeldCalls calls = new HeldCalls(discrete);
      try (Arena arena = Arena.ofShared();
          Tidepool tidepool = open(calls)) {
        Scene scene = scene(tidepool, arena);
        calls.hold("compile");
        CompletableFuture<@Nullable Throwable> outcome = start(Operation.COMPILE, scene);
        calls.awaitArrival();
        AtomicInteger returnedEarly = new AtomicInteger();
        List<Thread> closers =
            Stream.generate(
                    () ->
                        Thread.ofPlatform()
                            .daemon()
                            .start(
                                () -> {
                                  try {
                                    closing(scene, all).close();
                                  } catch (Exception e) {
                                    throw new AssertionError(e);
                                  }
                                  returnedEarly.addAndGet(calls.inside());
                                }))
                .limit(3)
                .toList();
        for (Thread closer : closers) {
          awaitBlocked(closer);
        }
        calls.release();
        for (Thread closer : closers) {
          closer.join();
        }
        assertThat(returnedEarly).hasValue(0);
        assertWellEnded(outcome.join());
      }
      assertThat(calls.misdeeds()).isEmpty();
    }
  }

  @Test
  void anInterruptedThreadStillWaitsAndStaysInterrupted() throws Exception {
    HeldCalls calls = new HeldCalls(discrete);
    try (Arena arena = Arena.ofShared();
        Tidepool tidepool = open(calls)) {
      Scene scene = scene(tidepool, arena);
      calls.hold("compile");
      CompletableFuture<@Nullable Throwable> outcome = start(Operation.COMPILE, scene);
      calls.awaitArrival();
      AtomicInteger insideAtReturn = new AtomicInteger(-1);
      AtomicBoolean interrupted = new AtomicBoolean();
      Thread closer =
          Thread.ofPlatform()
              .start(
                  () -> {
                    Thread.currentThread().interrupt();
                    scene.memory().close();
                    insideAtReturn.set(calls.inside());
                    interrupted.set(Thread.interrupted());
                  });
      awaitBlocked(closer);
      calls.release();
      closer.join();
      assertThat(insideAtReturn).hasValue(0);
      assertThat(interrupted).isTrue();
      assertWellEnded(outcome.join());
    }
    assertThat(calls.misdeeds()).isEmpty();
  }

  @Test
  void aCompletionMayCloseWhatItIsOf() {
    for (boolean all : new boolean[] {false, true}) {
      try (Tidepool tidepool = open(new HeldCalls(discrete))) {
        AutoCloseable closed = all ? tidepool : tidepool.memory();
        tidepool
            .memory()
            .allocateAsync(ElementType.INT, 100, Allocation.at(MemoryLocation.DEVICE))
            .thenAccept(
                buffer -> {
                  try {
                    closed.close();
                  } catch (Exception e) {
                    throw new AssertionError(e);
                  }
                })
            .join();
      }
    }
    assertThat(discrete.violations()).isEmpty();
  }

  @Test
  void aProgressListenerThatClosesIsToldThatItWouldWaitForItself() {
    for (boolean all : new boolean[] {false, true}) {
      AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
      try (Tidepool tidepool = open(new HeldCalls(discrete))) {
        UnifiedMemoryManager memory = tidepool.memory();
        AutoCloseable closed = all ? tidepool : memory;
        TransferOptions options =
            TransferOptions.builder()
                .progress(
                    (_, _) -> {
                      try {
                        closed.close();
                      } catch (Exception e) {
                        thrown.set(e);
                      }
                    })
                .build();
        memory
            .transfers()
            .transfer(
                List.of(Transfer.of(new int[100], memory.allocate(ElementType.INT, 100))), options)
            .orThrow();
      }
      assertThat(thrown.get())
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("progress listener");
    }
    assertThat(discrete.violations()).isEmpty();
  }

  @Test
  void aReportListenerMayCloseAgainOnItsOwnThreadAndOnAnother() {
    AtomicReference<@Nullable Tidepool> opened = new AtomicReference<>();
    AtomicInteger heard = new AtomicInteger();
    MemoryOptions options =
        MemoryOptions.builder()
            .reportListener(
                report -> {
                  Tidepool tidepool = opened.get();
                  if (tidepool != null) {
                    tidepool.close();
                    CompletableFuture.runAsync(tidepool::close).join();
                  }
                  heard.incrementAndGet();
                })
            .build();
    Tidepool tidepool = Discovery.using(List.of(discrete), () -> Tidepool.open(options));
    opened.set(tidepool);
    UnifiedBuffer<int[]> open = tidepool.memory().allocate(ElementType.INT, 100);
    tidepool.close();
    assertThatThrownBy(open::length).isInstanceOf(IllegalStateException.class);
    assertThat(heard).hasValue(1);
    assertThat(discrete.violations()).isEmpty();
  }
}
