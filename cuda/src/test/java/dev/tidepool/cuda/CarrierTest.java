package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Virtual threads use the device, and their carriers neither wait for it nor keep a context. */
@ExtendWith(NothingLeaks.class)
class CarrierTest {
  /** Where a carrier was held up, or would have been: names of calls. */
  private final Set<String> heldUp = new ConcurrentSkipListSet<>();

  private final Set<String> waits = new ConcurrentSkipListSet<>();

  /** A provider whose waits are noted. */
  private final class Watched implements AcceleratorProvider {
    private final CudaProvider provider = new CudaProvider();

    @Override
    public String name() {
      return provider.name();
    }

    @Override
    public Discovery discover() {
      Discovery found = provider.discover();
      return new Discovery(
          found.devices().stream().map(device -> watched(device, Device.class)).toList(),
          found.notes());
    }
  }

  /** Stands before a device, a queue or an event; hands on all calls. */
  private record Watch(Object of, CarrierTest test) implements InvocationHandler {
    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      boolean waits =
          of instanceof Event && method.getName().equals("await")
              || of instanceof Queue && Set.of("finish", "close").contains(method.getName());
      if (waits) {
        test.waits.add(method.getName());
        if (Thread.currentThread().isVirtual()) {
          test.heldUp.add(method.getDeclaringClass().getSimpleName() + "." + method.getName());
        }
      }
      Object[] own = arguments == null ? new Object[0] : arguments.clone();
      for (int i = 0; i < own.length; i++) {
        own[i] = unwrapped(own[i]);
      }
      try {
        return watched(method.invoke(of, own));
      } catch (InvocationTargetException thrown) {
        throw thrown.getCause();
      }
    }

    private Object watched(Object answer) {
      return switch (answer) {
        case Event event -> test.watched(event, Event.class);
        case Queue queue -> test.watched(queue, Queue.class);
        case null, default -> answer;
      };
    }
  }

  private <T> T watched(T object, Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(), new Class<?>[] {type}, new Watch(object, this)));
  }

  private static Object unwrapped(Object object) {
    return object != null
            && Proxy.isProxyClass(object.getClass())
            && Proxy.getInvocationHandler(object) instanceof Watch watch
        ? watch.of()
        : object;
  }

  private static void onVirtualThread(Runnable task) throws InterruptedException {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                task.run();
              } catch (Throwable thrown) {
                failure.set(thrown);
              }
            })
        .join();
    assertThat(failure.get()).isNull();
  }

  @ParameterizedTest
  @EnumSource
  void noneWaitsForACommand(MemoryLocation location) throws Exception {
    Simulation.with(2);
    try (Tidepool tidepool = Simulation.open(new Watched())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      UnifiedMemoryManager peer = tidepool.memory(tidepool.accelerator("cuda:1"));
      onVirtualThread(() -> work(memory, peer, location));
    }
    assertThat(waits).contains("await");
    assertThat(heldUp).isEmpty();
  }

  private static void work(
      UnifiedMemoryManager memory, UnifiedMemoryManager peer, MemoryLocation location) {
    int length = 10_000;
    Kernel twice = memory.compile(KernelSource.elementwise("x = x + x"));
    try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, length, location);
        UnifiedBuffer<int[]> device = memory.allocate(ElementType.INT, length);
        UnifiedBuffer<int[]> far = peer.allocate(ElementType.INT, length)) {
      buffer.fill(new int[] {1});
      twice.execute(Arguments.of("x", buffer));
      buffer.prefetchToHost();
      buffer.prefetchToDevice();
      twice.execute(Arguments.of("x", buffer));
      device.copyFrom(buffer);
      far.copyFrom(device);
      buffer.fill((byte) 0);
      buffer.copyFrom(far);
      buffer.copyFromAsync(device).join();
      int[] read = new int[length];
      buffer.copyTo(read);
      assertThat(read).containsOnly(4);
      assertThat(buffer.asReadOnlySegment().byteSize()).isEqualTo(4L * length);
      buffer.synchronize();
      memory.synchronize();
    }
    memory.trimExcess();
  }

  /**
   * A log has locks, and a virtual thread that waits for one may go on on another carrier, whose
   * contexts are others.
   */
  @Test
  void noneLogsWhileItsContextIsCurrent() throws Exception {
    SimulatedCuda simulated = Simulation.with(1);
    Logger logger = Logger.getLogger(Closing.class.getName());
    AtomicReference<Thread> logging = new AtomicReference<>();
    Handler listening =
        new Handler() {
          @Override
          public void publish(LogRecord record) {
            logging.set(Thread.currentThread());
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    logger.addHandler(listening);
    logger.setUseParentHandlers(false);
    try (Device device = Simulation.devices().getFirst()) {
      // The second is made to undo the first, and fails too.
      simulated.fail("cuStreamSynchronize", 1, ErrorCodes.CUDA_ERROR_UNKNOWN);
      simulated.fail("cuMemFreeAsync", 1, ErrorCodes.CUDA_ERROR_UNKNOWN);
      onVirtualThread(
          () ->
              assertThat(refusal(() -> device.allocate(4096, 64, BlockKind.DEVICE)))
                  .hasMessageContaining("cuStreamSynchronize"));
      org.awaitility.Awaitility.await().until(() -> logging.get() != null);
      assertThat(Objects.requireNonNull(logging.get()).isVirtual()).isFalse();
    } finally {
      logger.removeHandler(listening);
      logger.setUseParentHandlers(true);
    }
    // What could not be freed.
    simulated.reset(1);
  }

  /**
   * A virtual thread that waited for a lock could go on on another carrier, without its context.
   */
  @Test
  void noneWaitsForAnotherWhileItsContextIsCurrent() throws Exception {
    Simulation.with(1);
    try (CudaDevice device = (CudaDevice) Simulation.devices().getFirst();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(4096, 64, BlockKind.DEVICE);
      Block staging = device.allocate(4096, 64, BlockKind.PINNED);
      MemorySegment staged = Objects.requireNonNull(staging.segment());
      List<Piece> pieces = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        pieces.add(new Piece(i * 100L, block, i * 300L, 100));
      }
      Bytes.await(queue.scatter(staged, pieces));
      ScatterKernel kernel = device.scatterKernel();
      Runnable scatter =
          () -> kernel.submit(new Submission(), staged, pieces, true, queue.handle());
      Thread thread;
      boolean ended;
      synchronized (kernel) {
        thread = Thread.ofVirtual().start(() -> device.context().run(scatter));
        ended = thread.join(Duration.ofSeconds(20));
      }
      thread.join();
      assertThat(ended).isTrue();
      queue.finish();
      block.free();
      staging.free();
    }
  }

  /** The host is asked how much memory it has left, which takes a lock. */
  @Test
  void noneKeepsAContextOnACarrierWhenTheHostIsFull() throws Exception {
    SimulatedCuda simulated = Simulation.with(1);
    simulated.setAll("pinned_limit", 0);
    try (Device device = Simulation.devices().getFirst()) {
      onVirtualThreads(
          () -> {
            for (int i = 0; i < 50; i++) {
              assertThat(refusal(() -> device.allocate(4096, 64, BlockKind.PINNED)))
                  .isInstanceOf(OutOfDeviceMemoryException.class);
            }
          });
      onVirtualThreads(() -> assertThat(refusal(Cuda::cuCtxGetDevice)).isNotNull());
    }
  }

  /** The devices that reach mapped memory are noted under a lock. */
  @Test
  void noneKeepsAContextOnACarrierWhenPeersAreEnabled() throws Exception {
    SimulatedCuda simulated = Simulation.with(2);
    List<Device> devices = Simulation.devices();
    try (Device first = devices.get(0);
        Device second = devices.get(1)) {
      onVirtualThreads(
          () -> {
            for (int i = 0; i < 500; i++) {
              first.enablePeer(second);
              first.disablePeer(second);
            }
          });
      assertThat(simulated.violations()).isEmpty();
      onVirtualThreads(() -> assertThat(refusal(Cuda::cuCtxGetDevice)).isNotNull());
    }
  }

  private static void onVirtualThreads(Runnable task) throws InterruptedException {
    List<Throwable> failures = new CopyOnWriteArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 32; i++) {
      threads.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      task.run();
                    } catch (Throwable thrown) {
                      failures.add(thrown);
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(failures).isEmpty();
  }

  private static RuntimeException refusal(Runnable call) {
    try {
      call.run();
    } catch (RuntimeException refused) {
      return refused;
    }
    throw new AssertionError("nothing was refused");
  }

  @Test
  void whatIsWatchedIsHandedOnToTheDriver() {
    Simulation.with(2);
    List<Device> devices = new Watched().discover().devices();
    try (Device first = devices.get(0);
        Device second = devices.get(1)) {
      assertThat(unwrapped(first)).isInstanceOf(CudaDevice.class);
      assertThat(second.info().id()).isEqualTo("cuda:1");
    }
  }
}
