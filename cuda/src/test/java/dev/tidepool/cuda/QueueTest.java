package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.AcceleratorException;
import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.NativeQueue;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The order of commands, within a queue and between queues, and how their ends are told. */
@ExtendWith(NothingLeaks.class)
class QueueTest {
  private static final int SIZE = 1 << 16;

  @Test
  void commandsOfOneQueueHappenInOrder() {
    try (Device device = Simulation.device();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      Block other = device.allocate(SIZE, 64, BlockKind.DEVICE);
      for (int round = 0; round < 50; round++) {
        queue.fill(block, 0, SIZE, (byte) round).close();
        queue.copy(block, 0, other, 0, SIZE).close();
      }
      queue.finish();
      assertThat(new Bytes(device, queue).read(other, 0, SIZE)).containsOnly(49);
      block.free();
      other.free();
    }
  }

  /** The driver may give the handle of a stream that ends to the next one. */
  @Test
  void anEventOfAStreamThatEndedIsAwaitedByTheNextOneOfItsHandle() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "recycles_streams", 1);
    try (CudaDevice device = (CudaDevice) Simulation.devices().getFirst()) {
      Context context = device.context();
      CudaBlock block = (CudaBlock) device.allocate(SIZE, 64, BlockKind.DEVICE);
      long first = context.call(() -> Cuda.cuStreamCreateWithPriority(0));
      simulated.set(0, "latency_ns", 20_000_000);
      for (int i = 0; i < 5; i++) {
        context.run(() -> Cuda.cuMemsetD8Async(block.address(), (byte) 1, SIZE, first));
      }
      try (Event event = device.foreignQueue(first).mark()) {
        context.run(() -> Cuda.cuStreamDestroy(first));
        long second = context.call(() -> Cuda.cuStreamCreateWithPriority(0));
        assertThat(second).isEqualTo(first);
        NativeQueue next = device.foreignQueue(second);
        next.after(event);
        context.run(() -> Cuda.cuMemsetD8Async(block.address(), (byte) 2, SIZE, second));
        next.finish();
        assertThat(event.isDone()).isTrue();
        context.run(() -> Cuda.cuStreamDestroy(second));
      }
      block.free();
    }
  }

  @Test
  void aScatterTakesEveryPieceToItsPlaceAndAGatherFetchesIt() {
    try (Device device = Simulation.device();
        Queue queue = device.createQueue()) {
      Block one = device.allocate(SIZE, 64, BlockKind.DEVICE);
      Block two = device.allocate(SIZE, 64, BlockKind.DEVICE);
      queue.fill(one, 0, SIZE, (byte) 0).close();
      queue.fill(two, 0, SIZE, (byte) 0).close();
      Block staging = device.allocate(1000, 64, BlockKind.PINNED);
      MemorySegment staged = Objects.requireNonNull(staging.segment());
      byte[] sent = Bytes.pattern(1000, 1);
      staged.copyFrom(MemorySegment.ofArray(sent));
      Bytes.await(
          queue.scatter(
              staged,
              List.of(
                  new Piece(0, one, SIZE - 300, 300),
                  new Piece(300, two, 0, 0),
                  new Piece(300, two, 17, 600),
                  new Piece(900, one, 1, 100))));
      byte[] inOne = new byte[SIZE];
      System.arraycopy(sent, 0, inOne, SIZE - 300, 300);
      System.arraycopy(sent, 900, inOne, 1, 100);
      byte[] inTwo = new byte[SIZE];
      System.arraycopy(sent, 300, inTwo, 17, 600);
      assertThat(new Bytes(device, queue).read(one, 0, SIZE)).isEqualTo(inOne);
      assertThat(new Bytes(device, queue).read(two, 0, SIZE)).isEqualTo(inTwo);
      staged.fill((byte) 0);
      Bytes.await(
          queue.gather(
              List.of(
                  new Piece(900, one, 1, 100),
                  new Piece(300, two, 0, 0),
                  new Piece(300, two, 17, 600),
                  new Piece(0, one, SIZE - 300, 300)),
              staged));
      assertThat(staged.mismatch(MemorySegment.ofArray(sent))).isEqualTo(-1);
      assertThat(device.isPinned(staged)).isTrue();
      List.of(one, two, staging).forEach(Block::free);
    }
  }

  @Test
  void aCommandIsUnderWayWhenItsCallReturns() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "latency_ns", 50_000_000);
    try (Device device = Simulation.devices().getFirst();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      try (Event event = queue.fill(block, 0, SIZE, (byte) 1)) {
        assertThat(event.isDone()).isFalse();
        event.await();
        assertThat(event.isDone()).isTrue();
      }
      try (Event event = queue.fill(block, 0, SIZE, (byte) 1)) {
        await().until(event::isDone);
      }
      block.free();
    }
  }

  @Test
  void aQueueWaitsForTheEventOfAnother() {
    SimulatedCuda simulated = Simulation.with(2);
    simulated.setAll("latency_ns", 100_000);
    List<Device> devices = Simulation.devices();
    try (Device first = devices.get(0);
        Device second = devices.get(1);
        Queue producer = first.createQueue();
        Queue neighbour = first.createUrgentQueue();
        Queue unrelated = second.createQueue()) {
      Block block = first.allocate(SIZE, 64, BlockKind.DEVICE);
      Block near = first.allocate(SIZE, 64, BlockKind.DEVICE);
      Block far = second.allocate(SIZE, 64, BlockKind.DEVICE);
      for (int round = 1; round <= 20; round++) {
        Event written = producer.fill(block, 0, SIZE, (byte) round);
        neighbour.after(written);
        unrelated.after(written);
        written.close();
        Event copied = neighbour.copy(block, 0, near, 0, SIZE);
        Event sent = unrelated.copy(block, 0, far, 0, SIZE);
        producer.after(copied);
        producer.after(sent);
        copied.close();
        sent.close();
      }
      producer.finish();
      assertThat(new Bytes(first, neighbour).read(near, 0, SIZE)).containsOnly(20);
      assertThat(new Bytes(second, unrelated).read(far, 0, SIZE)).containsOnly(20);
      assertThat(simulated.calls("cuStreamWaitEvent")).isPositive();
      List.of(block, near, far).forEach(Block::free);
    }
  }

  @Test
  void anEventThatIsClosedWhileItsCommandRunsIsNotReusedForAnother() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "latency_ns", 1_000_000);
    try (Device device = Simulation.devices().getFirst();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      for (int i = 0; i < 20; i++) {
        queue.fill(block, 0, SIZE, (byte) i).close();
      }
      queue.finish();
      block.free();
    }
    // A reuse would be a violation, which every test here looks for.
    assertThat(simulated.calls("cuEventRecord")).isGreaterThan(20);
  }

  @Test
  void eventsAreKeptForReuse() {
    try (Device device = Simulation.device();
        Queue queue = device.createQueue()) {
      SimulatedCuda simulated = SimulatedCuda.orSkip();
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      for (int i = 0; i < 100; i++) {
        Bytes.await(queue.fill(block, 0, SIZE, (byte) i));
      }
      assertThat(simulated.calls("cuEventCreate")).isLessThan(5);
      block.free();
    }
  }

  @Test
  void shortCommandsGoBeforeLongOnes() {
    try (Device device = Simulation.device();
        Queue queue = device.createQueue();
        Queue urgent = device.createUrgentQueue()) {
      // One more is the memory's.
      assertThat(priorities()).containsExactlyInAnyOrder(0, 0, -5);
      urgent.close();
      assertThat(priorities()).containsExactlyInAnyOrder(0, 0);
    }
  }

  /** Of all streams that there are, as the driver has them; the lowest number goes first. */
  private static List<Integer> priorities() {
    return SimulatedCuda.orSkip().leaks().stream()
        .map(Pattern.compile("stream of priority (-?\\d+) ")::matcher)
        .filter(Matcher::lookingAt)
        .map(stream -> Integer.valueOf(stream.group(1)))
        .toList();
  }

  @Test
  void theLibrarysCopiesGoBeforeItsKernels() {
    Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      try (UnifiedBuffer<int[]> buffer = memory.copyOf(new int[] {1, 2, 3})) {
        memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", buffer));
        // Up, down, and on the device; then kernels, prefetches, and the memory's own.
        assertThat(priorities()).contains(0).filteredOn(priority -> priority == -5).hasSize(3);
      }
    }
  }

  @Test
  void aFailedCommandIsAnErrorOfItsEventWithTheNameOfItsCode() {
    SimulatedCuda simulated = Simulation.with(1);
    Device device = Simulation.devices().getFirst();
    Queue queue = device.createQueue();
    Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
    simulated.set(0, "latency_ns", 1_000_000_000);
    simulated.fail("execute", 2, ErrorCodes.CUDA_ERROR_ILLEGAL_ADDRESS);
    // The one that fails begins when this one has ended, which takes longer than submitting it.
    queue.fill(block, 0, SIZE, (byte) 1).close();
    Event event = queue.fill(block, 0, SIZE, (byte) 1);
    simulated.set(0, "latency_ns", 0);
    assertThatThrownBy(event::await)
        .isInstanceOfSatisfying(
            AcceleratorException.class,
            failure -> {
              assertThat(failure.code()).isEqualTo(ErrorCodes.CUDA_ERROR_ILLEGAL_ADDRESS);
              assertThat(failure.codeName()).isEqualTo("CUDA_ERROR_ILLEGAL_ADDRESS");
            });
    assertThat(event.isDone()).isTrue();
    // A lost device is closed like any other.
    event.close();
    assertThatThrownBy(() -> queue.fill(block, 0, SIZE, (byte) 1))
        .isInstanceOf(AcceleratorException.class);
    assertThatThrownBy(block::free).isInstanceOf(AcceleratorException.class);
    queue.close();
    device.close();
    simulated.reset(1);
  }

  @Test
  void aCommandWhoseEventCannotBeRecordedHasEndedWhenThatIsTold() {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.set(0, "latency_ns", 20_000_000);
    try (Device device = Simulation.devices().getFirst();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      simulated.fail("cuEventRecord", 1, 2);
      assertThatThrownBy(() -> queue.fill(block, 0, SIZE, (byte) 1))
          .isInstanceOf(AcceleratorException.class);
      // Freed under a command, the simulation would complain.
      block.free();
    }
  }

  @Test
  void commandsTakeNoBlockOfTheHost() {
    try (Device device = Simulation.device();
        Queue queue = device.createQueue()) {
      Block pinned = device.allocate(SIZE, 64, BlockKind.PINNED);
      Block own = device.allocate(SIZE, 64, BlockKind.DEVICE);
      MemorySegment bytes = Objects.requireNonNull(pinned.segment());
      List<Runnable> commands =
          List.of(
              () -> queue.fill(pinned, 0, SIZE, (byte) 1),
              () -> queue.write(bytes, pinned, 0),
              () -> queue.read(pinned, 0, bytes),
              () -> queue.copy(pinned, 0, own, 0, SIZE),
              () -> queue.copy(own, 0, pinned, 0, SIZE));
      for (Runnable command : commands) {
        assertThatIllegalArgumentException()
            .isThrownBy(command::run)
            .withMessageContaining("a PINNED block of 65536 bytes is memory of the host");
      }
      pinned.free();
      own.free();
    }
  }

  @Test
  void manyThreadsShareAQueueAndFindTheirOwnContextsAgain() throws Exception {
    Simulation.with(2);
    List<Device> devices = Simulation.devices();
    try (Device first = devices.get(0);
        Device second = devices.get(1);
        Queue one = first.createQueue();
        Queue two = second.createQueue()) {
      AtomicReference<Throwable> failure = new AtomicReference<>();
      AtomicInteger rounds = new AtomicInteger();
      List<Thread> threads = new ArrayList<>();
      for (int t = 0; t < 8; t++) {
        int seed = t;
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        for (int i = 0; i < 50; i++) {
                          Device device = i % 2 == 0 ? first : second;
                          Queue queue = i % 2 == 0 ? one : two;
                          Block block = device.allocate(512, 64, BlockKind.DEVICE);
                          Bytes bytes = new Bytes(device, queue);
                          byte[] sent = Bytes.pattern(500, seed * 1000L + i);
                          bytes.write(sent, block, 3);
                          assertThat(bytes.read(block, 3, 500)).isEqualTo(sent);
                          block.free();
                          rounds.incrementAndGet();
                        }
                      } catch (Throwable thrown) {
                        failure.compareAndSet(null, thrown);
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertThat(failure.get()).isNull();
      assertThat(rounds).hasValue(400);
    }
  }

  @Test
  void aThreadKeepsTheContextThatItHad() {
    Simulation.with(2);
    List<Device> devices = Simulation.devices();
    try (CudaDevice first = (CudaDevice) devices.get(0);
        CudaDevice second = (CudaDevice) devices.get(1);
        Queue queue = second.createQueue()) {
      first
          .context()
          .run(
              () -> {
                queue.finish();
                second.allocate(64, 64, BlockKind.DEVICE).free();
                // Made in the current context; the other device's events cannot be recorded there.
                long stream = Cuda.cuStreamCreateWithPriority(0);
                long event = Cuda.cuEventCreate();
                Cuda.cuEventRecord(event, stream);
                assertThat(Cuda.cuEventSynchronize(event)).isEqualTo(ErrorCodes.CUDA_SUCCESS);
                Cuda.cuEventDestroy(event);
                Cuda.cuStreamDestroy(stream);
              });
    }
  }

  @Test
  void whatIsClosedSaysSo() {
    Device device = Simulation.device();
    Queue queue = device.createQueue();
    Block block = device.allocate(64, 64, BlockKind.DEVICE);
    Event event = queue.fill(block, 0, 64, (byte) 0);
    event.await();
    event.close();
    event.close();
    assertThatIllegalStateException()
        .isThrownBy(event::await)
        .withMessageContaining("after it was closed");
    block.free();
    queue.close();
    queue.close();
    assertThatIllegalStateException()
        .isThrownBy(queue::finish)
        .withMessageContaining("a queue of cuda:0 is used after close");
    device.close();
    device.close();
    assertThatIllegalStateException()
        .isThrownBy(device::createQueue)
        .withMessageContaining("used after its close");
  }
}
