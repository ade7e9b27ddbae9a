package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Device;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * PoCL's driver {@code basic} runs a command in whichever thread makes it ready, and two threads
 * that do so at once lock each other's events. The driver is chosen when PoCL is loaded, so each
 * test has a virtual machine of its own.
 */
class BasicDriverTest {
  private static final int DEADLOCKED = 3;

  @ParameterizedTest
  @CsvSource({"basic, false", "basic basic, false"})
  void copiesAndKernelsOfSeveralBuffersRunAtOnce(String drivers, String sharedMemory)
      throws Exception {
    Pocl.devices().forEach(Device::close);
    OwnJvm.Result result =
        OwnJvm.run(
            Pipelines.class,
            List.of("-Dtidepool.opencl.sharedMemory=" + sharedMemory),
            Map.of("POCL_DEVICES", drivers));
    assertThat(result.output()).contains("every result is right");
    assertThat(result.status()).isZero();
  }

  /** Copies in, runs a kernel and copies out, many buffers at a time. */
  static final class Pipelines {
    private static final int BUFFERS = 8;
    private static final int LENGTH = 4096;
    private static final int ROUNDS = 200;

    public static void main(String[] arguments) {
      endWhenNothingMoves();
      try (Tidepool tidepool = Tidepool.open()) {
        List<Accelerator> devices =
            tidepool.accelerators().stream()
                .filter(accelerator -> accelerator.id().startsWith("opencl"))
                .toList();
        System.out.println(devices);
        List<Thread> threads = new ArrayList<>();
        for (Accelerator device : devices) {
          threads.add(Thread.ofPlatform().start(() -> run(tidepool.memory(device))));
        }
        for (Thread thread : threads) {
          thread.join();
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      System.out.println("every result is right");
    }

    private static void endWhenNothingMoves() {
      Thread.ofPlatform()
          .daemon()
          .start(
              () -> {
                try {
                  Thread.sleep(120_000);
                } catch (InterruptedException e) {
                  Thread.currentThread().interrupt();
                }
                System.out.println("nothing moves any more");
                Runtime.getRuntime().halt(DEADLOCKED);
              });
    }

    private static void run(UnifiedMemoryManager memory) {
      Kernel kernel = memory.compile(KernelSource.elementwise("y = a * x + y"));
      List<UnifiedBuffer<float[]>> in = buffers(memory);
      List<UnifiedBuffer<float[]>> out = buffers(memory);
      for (int round = 0; round < ROUNDS; round++) {
        List<float[]> results = new ArrayList<>();
        List<CompletableFuture<Void>> ends = new ArrayList<>();
        for (int i = 0; i < BUFFERS; i++) {
          float[] result = new float[LENGTH];
          results.add(result);
          ends.add(in.get(i).copyFromAsync(pattern(round + i)));
          ends.add(out.get(i).copyFromAsync(pattern(i)));
          ends.add(kernel.executeAsync(Arguments.of("a", 2, "x", in.get(i), "y", out.get(i))));
          ends.add(out.get(i).copyToAsync(result));
        }
        ends.forEach(CompletableFuture::join);
        for (int i = 0; i < BUFFERS; i++) {
          float[] result = results.get(i);
          for (int at = 0; at < LENGTH; at++) {
            if (result[at] != 2 * value(round + i, at) + value(i, at)) {
              throw new IllegalStateException("wrong in round " + round + ", buffer " + i);
            }
          }
        }
      }
      in.forEach(UnifiedBuffer::close);
      out.forEach(UnifiedBuffer::close);
    }

    private static List<UnifiedBuffer<float[]>> buffers(UnifiedMemoryManager memory) {
      List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
      for (int i = 0; i < BUFFERS; i++) {
        buffers.add(memory.allocate(ElementType.FLOAT, LENGTH));
      }
      return buffers;
    }

    private static float[] pattern(int seed) {
      float[] values = new float[LENGTH];
      for (int at = 0; at < LENGTH; at++) {
        values[at] = value(seed, at);
      }
      return values;
    }

    private static float value(int seed, int at) {
      return (seed * 31 + at) % 1009;
    }
  }
}
