package dev.tidepool.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.AcceleratorException;
import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticReport;
import dev.tidepool.diagnostics.UnclosedAccessReport;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.order.OrderedOperation;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.spi.support.Uninterruptibly;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.FailureModel;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Commands of code outside of Tidepool, between those of the library, on simulated devices. */
@Timeout(120)
class LendingTest {
  private static final int LENGTH = 1_000;

  private final List<Runnable> closing = new ArrayList<>();

  /** A Tidepool over one simulated device. */
  private record Rig(SimulatedProvider provider, FaultInjector faults, Tidepool tidepool) {
    SimulatedDevice device() {
      return provider.device("simulated:0");
    }

    UnifiedMemoryManager memory() {
      return tidepool.memory(tidepool.accelerator("simulated:0"));
    }

    Kernel kernel(String expression) {
      return memory().compile(KernelSource.elementwise(expression));
    }

    UnifiedBuffer<int[]> filled(int value) {
      UnifiedBuffer<int[]> buffer =
          memory().allocate(ElementType.INT, LENGTH, MemoryLocation.DEVICE);
      int[] values = new int[LENGTH];
      Arrays.fill(values, value);
      buffer.copyFrom(values);
      return buffer;
    }

    /** A command of native code: it adds to every element. */
    void add(long queue, NativeHandle handle, int addend) {
      MemorySegment bytes =
          MemorySegment.ofAddress(handle.address()).reinterpret(handle.byteSize());
      device()
          .submitForeign(
              queue,
              () -> {
                for (long at = 0; at < bytes.byteSize(); at += Integer.BYTES) {
                  bytes.set(ValueLayout.JAVA_INT, at, bytes.get(ValueLayout.JAVA_INT, at) + addend);
                }
              });
    }
  }

  private Rig open(SimulatedHardware hardware, MemoryOptions options) {
    SimulatedProvider provider = new SimulatedProvider(hardware);
    FaultInjector faults = new FaultInjector(provider);
    Tidepool tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(options));
    Rig rig = new Rig(provider, faults, tidepool);
    closing.add(
        () -> {
          rig.device().resume();
          tidepool.close();
          assertThat(provider.violations()).isEmpty();
          assertThat(rig.device().openEvents()).isZero();
          assertThat(rig.device().liveBlocks()).isZero();
          assertThat(rig.device().openQueues()).isZero();
        });
    return rig;
  }

  private Rig open(SimulatedHardware hardware) {
    return open(hardware, MemoryOptions.defaults());
  }

  private Rig open(LaunchOrder order) {
    return open(SimulatedHardware.discrete().withLaunchOrder(order));
  }

  private long foreignQueue(Rig rig) {
    long queue = rig.device().createForeign();
    closing.addFirst(
        () -> {
          rig.device().resume();
          rig.device().closeForeign(queue);
        });
    return queue;
  }

  @AfterEach
  @Timeout(120)
  void close() {
    closing.forEach(Runnable::run);
  }

  private static int valueOf(UnifiedBuffer<int[]> buffer) {
    int[] values = new int[LENGTH];
    buffer.copyTo(values);
    assertThat(values).containsOnly(values[0]);
    return values[0];
  }

  /** Lends a buffer to native code. */
  private interface Lend {
    NativeAccess of(NativeUse use);
  }

  private static void commandsComeBetweenKernels(Rig rig, Lend lend) {
    UnifiedBuffer<int[]> y = rig.filled(1);
    Kernel twice = rig.kernel("y = y * 2");
    for (int round = 0; round < 50; round++) {
      y.fill(new int[] {1});
      twice.executeAsync(Arguments.of("y", y));
      twice.executeAsync(Arguments.of("y", y));
      try (NativeAccess access = lend.of(NativeUse.readWrite(y))) {
        rig.add(access.queue(), access.handle(y), 3);
      }
      twice.executeAsync(Arguments.of("y", y));
      assertThat(valueOf(y)).isEqualTo(14);
    }
  }

  @ParameterizedTest
  @EnumSource(LaunchOrder.class)
  void commandsComeBetweenTheKernelsBeforeAndBehind(LaunchOrder order) {
    Rig rig = open(order);
    commandsComeBetweenKernels(rig, use -> rig.memory().lend(use));
  }

  @ParameterizedTest
  @EnumSource(LaunchOrder.class)
  void commandsOnAForeignQueueComeBetweenTheKernelsBeforeAndBehind(LaunchOrder order) {
    Rig rig = open(order);
    long queue = foreignQueue(rig);
    commandsComeBetweenKernels(
        rig,
        use -> {
          NativeAccess access = rig.memory().lendOn(queue, use);
          assertThat(access.queue()).isEqualTo(queue);
          return access;
        });
  }

  @ParameterizedTest
  @EnumSource(
      value = LaunchOrder.class,
      names = {"IN_QUEUE", "ACROSS_QUEUES"})
  void lendingWaitsForNoKernelThatTheDeviceOrders(LaunchOrder order) {
    Rig rig = open(order);
    UnifiedBuffer<int[]> y = rig.filled(1);
    Kernel twice = rig.kernel("y = y * 2");
    twice.execute(Arguments.of("y", y));
    rig.device().pause();
    CompletableFuture<Void> before = twice.executeAsync(Arguments.of("y", y));
    NativeAccess access = rig.memory().lend(NativeUse.readWrite(y));
    rig.add(access.queue(), access.handle(y), 3);
    access.close();
    CompletableFuture<Void> behind = twice.executeAsync(Arguments.of("y", y));
    await().until(() -> rig.device().ledger().calls(SpiCall.LAUNCH) == 3);
    assertThat(before).isNotDone();
    assertThat(behind).isNotDone();
    rig.device().resume();
    assertThat(valueOf(y)).isEqualTo(14);
  }

  @Test
  void aForeignQueueWaitsForKernelsOnTheDevice() {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    long queue = foreignQueue(rig);
    UnifiedBuffer<int[]> y = rig.filled(1);
    Kernel twice = rig.kernel("y = y * 2");
    twice.execute(Arguments.of("y", y));
    rig.device().pause();
    CompletableFuture<Void> before = twice.executeAsync(Arguments.of("y", y));
    try (NativeAccess access = rig.memory().lendOn(queue, NativeUse.readWrite(y))) {
      rig.add(queue, access.handle(y), 3);
    }
    CompletableFuture<Void> behind = twice.executeAsync(Arguments.of("y", y));
    await().until(() -> rig.device().ledger().calls(SpiCall.LAUNCH) == 3);
    assertThat(before).isNotDone();
    assertThat(behind).isNotDone();
    rig.device().resume();
    assertThat(valueOf(y)).isEqualTo(14);
  }

  @Test
  void kernelsOnOtherBuffersGoOnWhileAForeignQueueIsLate() {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    long queue = foreignQueue(rig);
    UnifiedBuffer<int[]> x = rig.filled(1);
    UnifiedBuffer<int[]> y = rig.filled(1);
    Kernel twice = rig.kernel("y = y * 2");
    CountDownLatch late = new CountDownLatch(1);
    try (NativeAccess access = rig.memory().lendOn(queue, NativeUse.readWrite(x))) {
      rig.device().submitForeign(queue, () -> Uninterruptibly.await(late::await));
      rig.add(queue, access.handle(x), 3);
    }
    for (int i = 0; i < 8; i++) {
      twice.executeAsync(Arguments.of("y", y));
    }
    assertThat(valueOf(y)).isEqualTo(256);
    late.countDown();
    assertThat(valueOf(x)).isEqualTo(4);
  }

  @Test
  void aKernelThatFailsTakesTheResultsOfNativeCodeWithIt() {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> y = rig.filled(1);
    Kernel twice = rig.kernel("y = y * 2");
    twice.execute(Arguments.of("y", y));
    y.synchronize();
    rig.device().pause();
    rig.device().failLaunch(1);
    CompletableFuture<Void> before = twice.executeAsync(Arguments.of("y", y));
    try (NativeAccess access = rig.memory().lend(NativeUse.readWrite(y))) {
      rig.add(access.queue(), access.handle(y), 3);
    }
    CompletableFuture<Void> behind = twice.executeAsync(Arguments.of("y", y));
    rig.device().resume();
    assertThat(before).failsWithin(60, SECONDS);
    assertThat(behind).failsWithin(60, SECONDS);
    assertThat(valueOf(y)).isEqualTo(2);
  }

  @Test
  void nativeCodeThatFailsWithAKernelSpoilsNoOtherBufferThatItWrites() {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> y = rig.filled(1);
    UnifiedBuffer<int[]> onBothSides = rig.filled(5);
    UnifiedBuffer<int[]> newerOnDevice = rig.filled(7);
    Kernel twice = rig.kernel("y = y * 2");
    onBothSides.synchronize();
    newerOnDevice.synchronize();
    twice.execute(Arguments.of("y", newerOnDevice));
    rig.device().pause();
    rig.device().failLaunch(1);
    CompletableFuture<Void> before = twice.executeAsync(Arguments.of("y", y));
    try (NativeAccess access =
        rig.memory()
            .lend(
                NativeUse.readWrite(y),
                NativeUse.readWrite(onBothSides),
                NativeUse.readWrite(newerOnDevice))) {
      rig.add(access.queue(), access.handle(onBothSides), 3);
      rig.add(access.queue(), access.handle(newerOnDevice), 3);
    }
    List<CompletableFuture<Void>> behind =
        Stream.of(onBothSides, newerOnDevice)
            .map(buffer -> twice.executeAsync(Arguments.of("y", buffer)))
            .toList();
    rig.device().resume();
    assertThat(before).failsWithin(60, SECONDS);
    assertThat(behind).allSatisfy(each -> assertThat(each).failsWithin(60, SECONDS));
    assertThat(valueOf(onBothSides)).isEqualTo(5);
    assertThat(valueOf(newerOnDevice)).isNotEqualTo(7);
  }

  @Test
  void threadsLendInTurns() throws InterruptedException {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> x = rig.filled(0);
    UnifiedBuffer<int[]> y = rig.filled(0);
    AtomicInteger lent = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    for (int t = 0; t < 6; t++) {
      boolean xFirst = t % 2 == 0;
      Runnable body =
          () -> {
            for (int i = 0; i < 200; i++) {
              NativeUse ofX = NativeUse.readWrite(x);
              NativeUse ofY = NativeUse.readWrite(y);
              try (NativeAccess access =
                  rig.memory().lend(xFirst ? ofX : ofY, xFirst ? ofY : ofX)) {
                rig.add(access.queue(), access.handle(x), 1);
                rig.add(access.queue(), access.handle(y), 1);
                lent.incrementAndGet();
              } catch (IllegalStateException busy) {
                Thread.onSpinWait();
              }
            }
          };
      Thread thread =
          t < 4 ? Thread.ofPlatform().unstarted(body) : Thread.ofVirtual().unstarted(body);
      thread.setUncaughtExceptionHandler((_, e) -> failures.add(e));
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(failures).isEmpty();
    assertThat(lent.get()).isPositive();
    assertThat(valueOf(x)).isEqualTo(lent.get());
    assertThat(valueOf(y)).isEqualTo(lent.get());
  }

  private static Storage storage(UnifiedBuffer<?> buffer) {
    return ((BufferHandle<?>) buffer).storage();
  }

  /** Returns the operations on a buffer that the next one would come behind. */
  private static List<OrderedOperation> lastOn(UnifiedBuffer<?> buffer) {
    Storage storage = storage(buffer);
    synchronized (storage) {
      return storage.queue().tail();
    }
  }

  /** Whether all threads that run transfers wait for work. */
  private static boolean areTransferThreadsIdle() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("tidepool-transfer-"))
        .allMatch(thread -> thread.getState() == Thread.State.TIMED_WAITING);
  }

  /**
   * The second lending enters while the first is ending, and no thread looks for work then. The
   * thread that ends the first waits for the monitor of its second buffer meanwhile.
   */
  @Test
  void aLendingThatAVirtualThreadEndsLetsTheNextOneBegin() {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> x = rig.filled(1);
    UnifiedBuffer<int[]> y = rig.filled(1);
    CountDownLatch lent = new CountDownLatch(1);
    CountDownLatch ending = new CountDownLatch(1);
    CompletableFuture<Void> first =
        CompletableFuture.runAsync(
            () -> {
              try (NativeAccess access =
                  rig.memory().lend(NativeUse.readWrite(x), NativeUse.read(y))) {
                rig.add(access.queue(), access.handle(x), 3);
                lent.countDown();
                Uninterruptibly.await(ending::await);
              }
            },
            Thread::startVirtualThread);
    Uninterruptibly.await(lent::await);
    await().until(LendingTest::areTransferThreadsIdle);
    List<OrderedOperation> ofFirst = lastOn(x);
    CompletableFuture<Void> second;
    synchronized (storage(y)) {
      ending.countDown();
      await().until(() -> !storage(x).holds().isLent());
      second =
          CompletableFuture.runAsync(
              () -> {
                try (NativeAccess access = rig.memory().lend(NativeUse.readWrite(x))) {
                  rig.add(access.queue(), access.handle(x), 3);
                }
              },
              Thread::startVirtualThread);
      await().until(() -> !lastOn(x).equals(ofFirst));
    }
    assertThat(first).succeedsWithin(20, SECONDS);
    assertThat(second).succeedsWithin(20, SECONDS);
    assertThat(valueOf(x)).isEqualTo(7);
  }

  @Test
  void lentMemoryIsNotEvicted() {
    long bytes = 4L * LENGTH;
    Rig rig =
        open(
            SimulatedHardware.discrete(),
            MemoryOptions.builder().memoryLimit(4 * Math.max(bytes, 64 << 10)).build());
    UnifiedBuffer<int[]> y = rig.filled(7);
    try (NativeAccess access = rig.memory().lend(NativeUse.readWrite(y))) {
      NativeHandle handle = access.handle(y);
      List<UnifiedBuffer<int[]>> others = new ArrayList<>();
      try {
        for (int i = 0; i < 1_000; i++) {
          others.add(rig.filled(i));
        }
      } catch (OutOfDeviceMemoryException full) {
        assertThat(others).isNotEmpty();
      }
      rig.add(access.queue(), handle, 3);
      others.forEach(UnifiedBuffer::close);
    }
    assertThat(valueOf(y)).isEqualTo(10);
  }

  @Test
  void whatIsInTheSpillFileComesBack(@TempDir Path folder) {
    Rig rig =
        open(
            SimulatedHardware.discrete(),
            MemoryOptions.builder().memoryLimit(1 << 20).spillDirectory(folder).build());
    List<UnifiedBuffer<int[]>> all = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      all.add(rig.filled(i));
    }
    UnifiedBuffer<int[]> first = all.getFirst();
    UnifiedBuffer<int[]> second = all.get(1);
    try (NativeAccess access =
        rig.memory().lend(NativeUse.readWrite(first), NativeUse.readWrite(second))) {
      rig.add(access.queue(), access.handle(first), 5);
      rig.add(access.queue(), access.handle(second), 5);
    }
    assertThat(valueOf(first)).isEqualTo(5);
    assertThat(valueOf(second)).isEqualTo(6);
  }

  @Test
  void anAccessThatNobodyClosesIsEndedAndReported() {
    Queue<DiagnosticReport> reports = new ConcurrentLinkedQueue<>();
    Rig rig =
        open(
            SimulatedHardware.discrete(),
            MemoryOptions.builder().reportListener(reports::add).build());
    UnifiedBuffer<int[]> y =
        rig.memory()
            .allocate(
                ElementType.INT, LENGTH, Allocation.at(MemoryLocation.DEVICE).tag("forgotten"));
    y.copyFrom(new int[LENGTH]);
    lendAndForget(rig, y);
    await()
        .until(
            () -> {
              System.gc();
              return !reports.isEmpty();
            });
    assertThat(reports)
        .singleElement()
        .isInstanceOfSatisfying(
            UnclosedAccessReport.class,
            report -> {
              assertThat(report.accelerator()).isEqualTo("simulated:0");
              assertThat(report.tag()).isEqualTo("forgotten");
              assertThat(report.buffers()).isEqualTo(1);
              assertThat(report.bytes()).isEqualTo(4L * LENGTH);
              assertThat(report.toString()).contains("without close()");
            });
    y.fill(new int[] {3});
    assertThat(valueOf(y)).isEqualTo(3);
  }

  private static void lendAndForget(Rig rig, UnifiedBuffer<int[]> y) {
    assertThat(rig.memory().lend(NativeUse.readWrite(y)).queue()).isNotZero();
  }

  @Test
  void anAccessThatHasEndedKeepsNothingOfABufferThatIsClosed() {
    WeakReference<Storage> lent = lendAndClose(open(SimulatedHardware.discrete()));
    await()
        .until(
            () -> {
              System.gc();
              return lent.refersTo(null);
            });
  }

  private static WeakReference<Storage> lendAndClose(Rig rig) {
    try (UnifiedBuffer<int[]> y = rig.filled(1)) {
      rig.memory().lend(NativeUse.read(y)).close();
      return new WeakReference<>(((BufferHandle<?>) y).storage());
    }
  }

  @Test
  void aLendingThatFailsLeavesNothing() {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> x = rig.filled(1);
    UnifiedBuffer<int[]> y = rig.filled(2);
    rig.faults().fail(SpiCall.LEND, 2, Failure.REFUSED);
    assertThatThrownBy(() -> rig.memory().lend(NativeUse.readWrite(x), NativeUse.readWrite(y)))
        .hasRootCauseInstanceOf(AcceleratorException.class);
    assertThat(valueOf(x)).isEqualTo(1);
    try (NativeAccess access = rig.memory().lend(NativeUse.readWrite(x), NativeUse.readWrite(y))) {
      rig.add(access.queue(), access.handle(x), 1);
    }
    assertThat(valueOf(x)).isEqualTo(2);
  }

  @Test
  void aLendingThatFailsOverwritesNothing() {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> x = rig.filled(1);
    UnifiedBuffer<int[]> y = rig.filled(2);
    x.synchronize();
    Kernel twice = rig.kernel("y = y * 2");
    twice.execute(Arguments.of("y", x));
    twice.execute(Arguments.of("y", y));
    rig.faults().fail(SpiCall.READ, 1, Failure.REFUSED);
    NativeUse overwritten = NativeUse.write(x).as(NativeKind.HOST_POINTER);
    NativeUse fetched = NativeUse.read(y).as(NativeKind.HOST_POINTER);
    assertThatThrownBy(() -> rig.memory().lend(overwritten, fetched))
        .isInstanceOf(TransferException.class)
        .hasRootCauseInstanceOf(AcceleratorException.class);
    assertThat(valueOf(x)).isEqualTo(2);
    assertThat(valueOf(y)).isEqualTo(4);
  }

  /**
   * The second kernel has not ended, and the bytes are on the host again since the first failed.
   */
  @ParameterizedTest
  @EnumSource(FailureModel.class)
  void aLendingBehindAKernelThatFailsHasTheKernelsError(FailureModel failures) throws Exception {
    Rig rig =
        open(
            SimulatedHardware.discrete()
                .withLaunchOrder(LaunchOrder.ACROSS_QUEUES)
                .withFailures(failures));
    UnifiedBuffer<int[]> y = rig.filled(1);
    Kernel twice = rig.kernel("y = y * 2");
    twice.execute(Arguments.of("y", y));
    y.synchronize();
    rig.device().pause();
    rig.device().failLaunch(1);
    CompletableFuture<Void> first = twice.executeAsync(Arguments.of("y", y));
    CompletableFuture<Void> second = twice.executeAsync(Arguments.of("y", y));
    rig.device().admit(1);
    assertThat(first).failsWithin(60, SECONDS);
    CompletableFuture<NativeAccess> lending =
        CompletableFuture.supplyAsync(() -> rig.memory().lend(NativeUse.readWrite(y)));
    await().until(() -> lending.isDone() || storage(y).holds().isLent());
    rig.device().resume();
    assertThat(second).failsWithin(60, SECONDS);
    assertThat(lending)
        .failsWithin(60, SECONDS)
        .withThrowableThat()
        .withCause(first.exceptionNow());
  }

  @ParameterizedTest
  @EnumSource(
      value = Failure.class,
      names = {"REFUSED", "BROKEN"})
  void anEndThatCannotBeMarkedFailsWhatComesBehind(Failure how) {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> y = rig.filled(1);
    y.synchronize();
    rig.faults().fail(SpiCall.MARK, 1, how);
    NativeAccess access = rig.memory().lend(NativeUse.readWrite(y));
    rig.add(access.queue(), access.handle(y), 1);
    access.close();
    // Whatever the outcome is, the buffer is of use again.
    rig.memory().synchronize();
    y.fill(new int[] {6});
    assertThat(valueOf(y)).isEqualTo(6);
  }

  @Test
  void anEndThatCannotBeMarkedComesWhenTheCommandsHaveEnded() throws InterruptedException {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> y = rig.filled(1);
    NativeAccess access = rig.memory().lend(NativeUse.readWrite(y));
    rig.device().pause();
    rig.add(access.queue(), access.handle(y), 1);
    rig.faults().fail(SpiCall.MARK, 1, Failure.REFUSED);
    Thread closing = Thread.ofPlatform().start(access::close);
    assertThat(closing.join(Duration.ofMillis(100))).as("closed while a command runs").isFalse();
    rig.device().resume();
    closing.join();
    rig.memory().synchronize();
  }

  @Test
  void foreignQueuesOfOthersAreRefused() {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> y = rig.filled(1);
    assertThatThrownBy(() -> rig.memory().lendOn(-5, NativeUse.read(y)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("queue -5");
    UnifiedMemoryManager cpu = rig.tidepool().memory(rig.tidepool().accelerator("cpu:0"));
    try (UnifiedBuffer<int[]> x = cpu.allocate(ElementType.INT, LENGTH)) {
      assertThatThrownBy(() -> cpu.lendOn(5, NativeUse.read(x)))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("no queues");
    }
    assertThat(valueOf(y)).isEqualTo(1);
  }

  @Test
  void partsOfOneBufferGoToOneSide() {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> y = rig.filled(1);
    UnifiedBuffer<int[]> front = y.slice(0, 500);
    UnifiedBuffer<int[]> back = y.slice(500, 500);
    assertThatThrownBy(
            () ->
                rig.memory()
                    .lend(
                        NativeUse.write(front), NativeUse.write(back).as(NativeKind.HOST_POINTER)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("at once");
    try (NativeAccess access =
        rig.memory().lend(NativeUse.readWrite(front), NativeUse.readWrite(back))) {
      rig.add(access.queue(), access.handle(back), 3);
      rig.add(access.queue(), access.handle(front), 3);
    }
    assertThat(valueOf(y)).isEqualTo(4);
  }

  @Test
  void hostAndDeviceMemoryAreLentTogether() {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> x = rig.filled(1);
    UnifiedBuffer<int[]> y = rig.filled(1);
    Kernel twice = rig.kernel("y = y * 2");
    twice.executeAsync(Arguments.of("y", y));
    twice.executeAsync(Arguments.of("y", x));
    try (NativeAccess access =
        rig.memory()
            .lend(NativeUse.readWrite(x).as(NativeKind.HOST_POINTER), NativeUse.readWrite(y))) {
      MemorySegment host = access.handle(x).segment();
      assertThat(host.get(ValueLayout.JAVA_INT, 0)).isEqualTo(2);
      host.fill((byte) 0);
      rig.add(access.queue(), access.handle(y), 3);
    }
    twice.executeAsync(Arguments.of("y", y));
    assertThat(valueOf(x)).isZero();
    assertThat(valueOf(y)).isEqualTo(10);
  }

  @Test
  void closingTheTidepoolEndsWhatAnotherThreadHasLent() throws Exception {
    Rig rig = open(LaunchOrder.ACROSS_QUEUES);
    UnifiedBuffer<int[]> y = rig.filled(1);
    NativeAccess access = rig.memory().lend(NativeUse.readWrite(y));
    rig.add(access.queue(), access.handle(y), 3);
    AtomicBoolean closed = new AtomicBoolean();
    Thread closer =
        Thread.ofPlatform()
            .start(
                () -> {
                  rig.tidepool().close();
                  closed.set(true);
                });
    closer.join();
    assertThat(closed).isTrue();
    access.close();
  }
}
