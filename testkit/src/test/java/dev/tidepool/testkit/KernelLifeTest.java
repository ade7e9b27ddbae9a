package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** How long the code of kernels lives. */
@Timeout(120)
class KernelLifeTest {
  private static final int SOURCES = 300;
  private static final KernelSource EXPRESSION = KernelSource.elementwise("y = x + 1");

  @RegisterExtension
  private final SimulatedRig rig = new SimulatedRig(MemoryOptions.builder().calibration(false));

  private final UnifiedMemoryManager memory = rig.memory();
  private final SimulatedDevice device = rig.device();

  private static void run(Kernel kernel) {
    int[] y = new int[1];
    kernel.execute(Arguments.of("x", new int[] {1}, "y", y));
    assertThat(y).containsExactly(2);
  }

  @Test
  void aClosedKernelFreesItsCodeAndCannotBeRun() {
    Kernel kernel = memory.compile(EXPRESSION);
    run(kernel);
    double[] y = new double[1];
    kernel.execute(Arguments.of("x", new double[] {1}, "y", y));
    assertThat(device.livePrograms()).isEqualTo(2);
    kernel.close();
    kernel.close();
    assertThat(device.livePrograms()).isZero();
    assertThatThrownBy(() -> run(kernel))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("y = x + 1")
        .hasMessageContaining("is closed; compile it again");
  }

  @Test
  void anyNumberOfLaunchesWaitsForTheCode() {
    List<UnifiedBuffer<int[]>> buffers = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      buffers.add(memory.copyOf(new int[] {i}));
    }
    Kernel kernel = memory.compile(KernelSource.elementwise("y = y + 1"));
    List<CompletableFuture<Void>> launches = new ArrayList<>();
    // No call of the device goes on meanwhile.
    synchronized (rig.faults()) {
      buffers.forEach(buffer -> launches.add(kernel.executeAsync(Arguments.of("y", buffer))));
      await().until(() -> kernelThreads() >= 260);
    }
    launches.forEach(CompletableFuture::join);
    for (int i = 0; i < buffers.size(); i++) {
      int[] value = new int[1];
      buffers.get(i).copyTo(value);
      assertThat(value).containsExactly(i + 1);
      buffers.get(i).close();
    }
    kernel.close();
  }

  private static long kernelThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("tidepool-kernel-"))
        .count();
  }

  @Test
  void kernelsOfOneSourceShareCodeUntilTheLastIsClosed() {
    Kernel first = memory.compile(EXPRESSION);
    run(first);
    try (Kernel second = memory.compile(KernelSource.elementwise("y = x + 1"))) {
      run(second);
      assertThat(rig.calls(SpiCall.COMPILE)).isEqualTo(1);
      first.close();
      assertThat(device.livePrograms()).isEqualTo(1);
      run(second);
    }
    assertThat(device.livePrograms()).isZero();
  }

  @Test
  void aKernelThatIsClosedUnderItsRunsIsFreedWhenTheLastHasEnded() {
    try (UnifiedBuffer<int[]> buffer = memory.copyOf(new int[] {1})) {
      buffer.copyFrom(new int[] {1});
      Kernel kernel = memory.compile(EXPRESSION);
      device.pause();
      // More than the 512 that a queue of the device is given at once: the last can be stopped,
      // whatever was compiled by then.
      CompletableFuture<?>[] runs = new CompletableFuture<?>[600];
      for (int i = 0; i < runs.length; i++) {
        runs[i] = kernel.executeAsync(Arguments.of("x", buffer, "y", buffer));
      }
      assertThat(runs[runs.length - 1].cancel(false)).isTrue();
      kernel.close();
      device.resume();
      memory.synchronize();
      int[] back = new int[1];
      buffer.copyTo(back);
      assertThat(back).containsExactly(runs.length);
    }
    assertThat(rig.calls(SpiCall.COMPILE)).isEqualTo(1);
    assertThat(device.livePrograms()).isZero();
  }

  @Test
  void codeThatNobodyClosedDoesNotGrowWithoutBound() throws InterruptedException {
    for (int i = 0; i < SOURCES; i++) {
      run(numbered(i));
    }
    while (device.livePrograms() > 256) {
      System.gc();
      Thread.sleep(20);
    }
    // What is kept is found again.
    int kept = device.livePrograms();
    long compiled = rig.calls(SpiCall.COMPILE);
    List<Kernel> again = new ArrayList<>();
    for (int i = 0; i < SOURCES; i++) {
      Kernel kernel = numbered(i);
      again.add(kernel);
      run(kernel);
    }
    assertThat(rig.calls(SpiCall.COMPILE) - compiled).isEqualTo(SOURCES - kept);
    again.forEach(Kernel::close);
  }

  private Kernel numbered(int i) {
    return memory.compile(KernelSource.elementwise("y = x + " + i + " - " + (i - 1)));
  }

  @Test
  void javaBodiesThatNobodyClosedAreNotKept() throws InterruptedException {
    for (int i = 0; i < 50; i++) {
      AtomicInteger runs = new AtomicInteger();
      memory
          .compile(
              KernelSource.java(
                  item -> runs.incrementAndGet(), KernelParameter.scalar("a", ElementType.INT)))
          .execute(Arguments.of("a", 1), LaunchRange.of(1));
      assertThat(runs).hasValue(1);
    }
    while (device.livePrograms() > 0) {
      System.gc();
      Thread.sleep(20);
    }
  }

  @Test
  void aSourceThatDoesNotCompileHoldsNothing() {
    Kernel wrong = memory.compile(KernelSource.elementwise("y = x & 1"));
    assertThatThrownBy(() -> wrong.execute(Arguments.of("x", new double[1], "y", new double[1])))
        .isInstanceOf(KernelCompilationException.class);
    assertThat(device.livePrograms()).isZero();
    wrong.close();
  }
}
