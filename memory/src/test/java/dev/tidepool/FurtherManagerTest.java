package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.file.Path;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A further manager has options of its own, but for those that are the whole Tidepool's. */
final class FurtherManagerTest {
  @TempDir private Path folder;

  private static MemoryOptions with(Consumer<MemoryOptions.Builder> setting) {
    MemoryOptions.Builder options = MemoryOptions.builder();
    setting.accept(options);
    return options.build();
  }

  @Test
  void anOptionOfTheTidepoolIsRefusedWithItsValueAndThePlaceForIt() {
    Map<String, Consumer<MemoryOptions.Builder>> settings =
        Map.of(
            "pinned-limit is 1048576",
            options -> options.pinnedLimit(1 << 20),
            "peer-access is false",
            options -> options.peerAccess(false),
            "managed-memory is false",
            options -> options.managedMemory(false),
            "zero-copy-buffers is false",
            options -> options.zeroCopyBuffers(false),
            "concurrent-transfers is 7",
            options -> options.concurrentTransfers(7),
            "trace is " + folder.resolve("trace"),
            options -> options.trace(folder.resolve("trace")));
    try (Tidepool tidepool = Tidepool.open()) {
      Accelerator cpu = tidepool.accelerator("cpu:0");
      settings.forEach(
          (problem, setting) ->
              assertThatIllegalArgumentException()
                  .isThrownBy(() -> UnifiedMemoryManager.create(cpu, with(setting)))
                  .withMessageStartingWith(problem)
                  .withMessageContaining("Tidepool.open(options)"));
    }
    assertThat(folder).isEmptyDirectory();
  }

  @Test
  void theTidepoolsOwnValueIsAcceptedAndSoIsAnOptionThatIsNotSet() {
    Consumer<MemoryOptions.Builder> ofAll =
        options ->
            options
                .pinnedLimit(1 << 20)
                .peerAccess(false)
                .concurrentTransfers(3)
                .trace(folder.resolve("trace"));
    try (Tidepool tidepool = Tidepool.open(with(ofAll))) {
      Accelerator cpu = tidepool.accelerator("cpu:0");
      for (MemoryOptions options :
          new MemoryOptions[] {
            with(ofAll.andThen(more -> more.memoryLimit(1 << 24))),
            with(options -> options.memoryLimit(1 << 24))
          }) {
        try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(cpu, options);
            UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 100)) {
          assertThat(buffer.length()).isEqualTo(100);
        }
      }
    }
  }

  @Test
  void aValueOfTheEnvironmentIsTheTidepoolsToo() {
    System.setProperty("tidepool.concurrent-transfers", "2");
    try (Tidepool tidepool = Tidepool.open();
        UnifiedMemoryManager memory =
            UnifiedMemoryManager.create(
                tidepool.accelerator("cpu:0"), with(options -> options.concurrentTransfers(5)))) {
      assertThat(memory.statistics().activeBuffers()).isZero();
    } finally {
      System.clearProperty("tidepool.concurrent-transfers");
    }
  }
}
