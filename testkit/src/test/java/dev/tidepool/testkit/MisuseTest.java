package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Careless programs get an answer: a future that completes, an error that says what happened. */
@Timeout(60)
class MisuseTest {
  private static final int BYTES = 256 << 10;

  @TempDir Path folder;

  private static Tidepool simulated(long bytes) {
    SimulatedHardware hardware = SimulatedHardware.discrete().withMemory(bytes);
    return Discovery.using(List.of(new SimulatedProvider(hardware)), Tidepool::open);
  }

  @Test
  void closingLeavesNoFutureWithoutAnEnd() {
    for (int round = 0; round < 20; round++) {
      List<CompletableFuture<?>> futures = new ArrayList<>();
      try (Tidepool tidepool = simulated(8 << 20)) {
        for (int i = 0; i < 200; i++) {
          futures.add(
              tidepool
                  .memory()
                  .allocateAsync(ElementType.FLOAT, 64, Allocation.at(MemoryLocation.DEVICE)));
        }
      }
      for (CompletableFuture<?> future : futures) {
        assertThat(future.handle((_, _) -> true).orTimeout(20, TimeUnit.SECONDS).join()).isTrue();
      }
    }
  }

  @Test
  void aViewThatRacesWithTheCloseIsAViewOrAnErrorThatSaysSo() throws Exception {
    try (Tidepool tidepool = simulated(8 << 20)) {
      List<Throwable> thrown = new ArrayList<>();
      for (int round = 0; round < 3000; round++) {
        UnifiedBuffer<int[]> buffer =
            tidepool.memory().allocate(ElementType.INT, 16, MemoryLocation.HOST);
        CyclicBarrier start = new CyclicBarrier(2);
        Thread viewing =
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        start.await();
                        buffer.asSegment();
                        buffer.asReadOnlySegment();
                      } catch (Exception e) {
                        thrown.add(e);
                      }
                    });
        start.await();
        buffer.close();
        viewing.join();
      }
      assertThat(thrown).allMatch(IllegalStateException.class::isInstance);
    }
  }

  private UnifiedBuffer<byte[]> fileOf(UnifiedMemoryManager memory) throws IOException {
    Path file = folder.resolve("data");
    Files.write(file, new byte[BYTES]);
    return memory.map(file, ElementType.BYTE, MapMode.READ_WRITE);
  }

  private void truncate() throws IOException {
    try (FileChannel channel = FileChannel.open(folder.resolve("data"), StandardOpenOption.WRITE)) {
      channel.truncate(0);
    }
  }

  @Test
  void aKernelOnAFileThatBecameShorterFailsAsATransfer() throws Exception {
    try (Tidepool tidepool = simulated(8 << 20)) {
      UnifiedBuffer<byte[]> file = fileOf(tidepool.memory());
      Kernel kernel = tidepool.memory().compile(KernelSource.elementwise("y = y + 1"));
      truncate();
      assertThatThrownBy(() -> kernel.execute(Arguments.of("y", file)))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("became shorter");
    }
  }

  @Test
  void aDeviceCopyThatCannotBeGivenUpIsNoErrorOfWhoNeedsTheRoom() throws Exception {
    try (Tidepool tidepool = simulated(1 << 20)) {
      UnifiedMemoryManager memory = tidepool.memory();
      UnifiedBuffer<byte[]> lost = fileOf(memory);
      memory.compile(KernelSource.elementwise("y = y + 1")).execute(Arguments.of("y", lost));
      UnifiedBuffer<byte[]> idle = memory.allocate(ElementType.BYTE, BYTES, MemoryLocation.HOST);
      idle.fill((byte) 7);
      idle.prefetchToDevice();
      memory.synchronize();
      truncate();
      UnifiedBuffer<byte[]> half = memory.allocate(ElementType.BYTE, 2 * BYTES);
      UnifiedBuffer<byte[]> last = memory.allocate(ElementType.BYTE, BYTES);
      assertThat(half.length() + last.length()).isEqualTo(3L * BYTES);
      assertThat(memory.statistics().evictions()).isEqualTo(1);
    }
  }

  @Test
  void anArrayTakesOneResultOnly() {
    try (Tidepool tidepool = simulated(8 << 20)) {
      Kernel kernel = tidepool.memory().compile(KernelSource.elementwise("y = x + 1; z = x + 2"));
      float[] both = new float[2];
      assertThatThrownBy(
              () -> kernel.execute(Arguments.of("x", new float[2], "y", both, "z", both)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("'y' and 'z' are both written and overlap; pass arrays");
    }
  }

  @Test
  void aRangeOfMoreItemsThanCanBeCountedIsRefused() {
    assertThatThrownBy(() -> LaunchRange.of(1L << 32, 1L << 32))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("more items");
  }
}
