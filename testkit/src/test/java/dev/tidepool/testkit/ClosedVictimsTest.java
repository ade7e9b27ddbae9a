package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A closed buffer that waits for a thread to free it is freed without a movement of its bytes. */
@ExtendWith(QuietLog.class)
@Timeout(120)
class ClosedVictimsTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int FLOATS = MEBIBYTE / 4;
  private static final int ROOM = 4;

  @TempDir private Path directory;

  private final CountDownLatch held = new CountDownLatch(1);
  private final CountDownLatch mayGo = new CountDownLatch(1);

  /** A source of a copy that keeps the only transfer thread until it may go. */
  @SuppressWarnings("unchecked")
  private UnifiedBuffer<float[]> slow(UnifiedBuffer<float[]> source) {
    return (UnifiedBuffer<float[]>)
        Proxy.newProxyInstance(
            UnifiedBuffer.class.getClassLoader(),
            new Class<?>[] {UnifiedBuffer.class},
            (_, method, arguments) -> {
              if (method.getName().equals("asReadOnlySegment")) {
                held.countDown();
                mayGo.await();
              }
              try {
                return method.invoke(source, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private void roomIsMadeByWhatIsClosed(SimulatedProvider simulated, MemoryOptions.Builder options)
      throws InterruptedException {
    // Where memory is overwritten, the next buffer does not take a block over from a kernel.
    options.concurrentTransfers(1).zeroOnRelease(true);
    try (Tidepool tidepool =
            Discovery.using(List.of(simulated), () -> Tidepool.open(options.build()));
        UnifiedMemoryManager memory = tidepool.memory();
        Tidepool elsewhere = Tidepool.open();
        UnifiedBuffer<float[]> source =
            elsewhere.memory(elsewhere.accelerator("cpu:0")).allocate(ElementType.FLOAT, 16);
        UnifiedBuffer<float[]> target =
            memory.allocate(ElementType.FLOAT, 16, MemoryLocation.HOST)) {
      SimulatedDevice device = simulated.device("simulated:0");
      Kernel kernel = memory.compile(KernelSource.elementwise("y = 1"));
      List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
      for (int i = 0; i < ROOM; i++) {
        UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, FLOATS);
        buffer.copyFrom(new float[FLOATS]);
        buffers.add(buffer);
      }
      long fetched = memory.transfers().statistics().deviceToHostBytes();
      long spills = memory.statistics().spills();
      CompletableFuture<Void> copy = target.copyFromAsync(slow(source));
      try {
        held.await();
        device.pause();
        List<CompletableFuture<?>> kernels = new ArrayList<>();
        for (UnifiedBuffer<float[]> buffer : buffers) {
          kernels.add(kernel.executeAsync(Arguments.of("y", buffer)));
          // Freed behind the kernel, by a transfer thread, and there is none.
          buffer.close();
        }
        device.resume();
        kernels.forEach(CompletableFuture::join);
        for (int i = 0; i < ROOM; i++) {
          buffers.set(i, memory.allocate(ElementType.FLOAT, FLOATS));
          buffers.get(i).fill((byte) 3);
        }
        assertThat(memory.transfers().statistics().deviceToHostBytes()).isEqualTo(fetched);
        assertThat(memory.statistics().spills()).isEqualTo(spills);
        assertThat(memory.statistics().evictions()).isZero();
        assertThat(memory.statistics().activeBuffers()).isEqualTo(ROOM + 1);
      } finally {
        mayGo.countDown();
      }
      copy.join();
      for (UnifiedBuffer<float[]> buffer : buffers) {
        float[] seen = new float[FLOATS];
        buffer.copyTo(seen);
        assertThat(seen[FLOATS - 1]).isEqualTo(Float.intBitsToFloat(0x03030303));
        buffer.close();
      }
    }
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  @Test
  void deadBytesOfADeviceThatIsFullAreNotFetched() throws Exception {
    roomIsMadeByWhatIsClosed(
        new SimulatedProvider(
            SimulatedHardware.discrete()
                .withMemory(ROOM * MEBIBYTE)
                .withMaximumAllocation(MEBIBYTE)),
        MemoryOptions.builder());
  }

  @Test
  void deadBytesAtTheLimitAreNotWrittenToAFile() throws Exception {
    roomIsMadeByWhatIsClosed(
        new SimulatedProvider(SimulatedHardware.discrete().withHostAccess(HostAccess.DIRECT)),
        MemoryOptions.builder()
            .memoryLimit((ROOM + 1) * MEBIBYTE)
            .stagingChunk(1 << 16)
            .spillDirectory(directory));
  }
}
