package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A driver that compiles while everything is closed: neither program nor kernel nor context stays.
 */
@Timeout(120)
@ExtendWith(NothingLeaks.class)
class CompileDuringCloseTest {
  private static final int ROUNDS = 4;

  @BeforeAll
  static void needADevice() {
    Pocl.devices().forEach(Device::close);
  }

  @Test
  void closingWaitsForTheDriver() throws InterruptedException {
    for (int round = 0; round < ROUNDS; round++) {
      Tidepool tidepool = Discovery.using(List.of(new OpenClProvider()), Tidepool::open);
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("opencl"));
      KernelSource source =
          KernelSource.opencl(
              "kernel void f(global float *y) { y[get_global_id(0)] = " + System.nanoTime() + "; }",
              "f",
              KernelParameter.out("y", ElementType.FLOAT));
      CountDownLatch started = new CountDownLatch(1);
      CompletableFuture<@Nullable Throwable> outcome = new CompletableFuture<>();
      Thread.ofPlatform()
          .daemon()
          .start(
              () -> {
                started.countDown();
                try {
                  memory.compile(source);
                  outcome.complete(null);
                } catch (Throwable e) {
                  outcome.complete(e);
                }
              });
      started.await();
      Thread.sleep(round % 4);
      tidepool.close();
      Throwable failure = outcome.join();
      if (failure != null) {
        assertThat(failure)
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("is closed");
      }
    }
  }
}
