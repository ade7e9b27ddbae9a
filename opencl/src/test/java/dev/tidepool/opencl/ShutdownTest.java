package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.spi.Device;
import dev.tidepool.testkit.fault.AtShutdown;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The driver is left alone once the virtual machine shuts down. */
class ShutdownTest {

  @Test
  void closingDuringShutdownCallsNoDriverAndIsNoError() throws Exception {
    Pocl.devices().forEach(Device::close);
    OwnJvm.Result result = OwnJvm.run(CloseInAHook.class, List.of());
    assertThat(result.output())
        .contains("command: clEnqueueSVMMemFill: the virtual machine is shutting down")
        .contains("closed, 1 queues are left to the process's end")
        .doesNotContain("Exception in thread");
    assertThat(result.status()).isZero();
  }

  /** Leaves everything open until the shutdown hooks run. */
  static final class CloseInAHook {
    public static void main(String[] arguments) {
      AtShutdown.use(
          new OpenClProvider().discover().devices().getFirst(),
          () -> ObjectKind.LIVE.count(ObjectKind.QUEUE));
    }
  }
}
