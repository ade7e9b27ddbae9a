package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes share memory of the first card of this machine. */
class CardSharingTest {
  private static final int LENGTH = 10_000;
  private static final MemoryLocation DEVICE = MemoryLocation.DEVICE;

  @TempDir private Path parent;
  private Path folder;

  @BeforeEach
  void folder() throws IOException {
    folder = parent.resolve("s");
    Files.createDirectory(
        folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
  }

  private Tidepool open() {
    MemoryOptions options = MemoryOptions.builder().sharedDirectory(folder).build();
    return Discovery.using(List.of(new CudaProvider()), () -> Tidepool.open(options));
  }

  private static int[] read(UnifiedBuffer<int[]> buffer) {
    int[] read = new int[(int) buffer.length()];
    buffer.copyTo(read);
    return read;
  }

  private static String hash(int seed) {
    return Arrays.hashCode(SharingProcess.pattern(LENGTH, seed)) + "";
  }

  @Test
  void theMemoryOutlivesTheProcessThatMadeIt() throws Exception {
    try (Tidepool tidepool = open();
        SharingProcess first = SharingProcess.start(folder);
        SharingProcess second = SharingProcess.start(folder)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      assertThat(first.tell("create x " + LENGTH)).isEqualTo("done");
      assertThat(first.tell("write x 1")).isEqualTo("done");
      try (UnifiedBuffer<int[]> buffer = memory.openShared(ElementType.INT, "x", DEVICE)) {
        assertThat(read(buffer)).isEqualTo(SharingProcess.pattern(LENGTH, 1));
        memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", buffer));
        assertThat(first.tell("read x")).isEqualTo(hash(2));
        first.kill();
        assertThat(second.tell("open x")).isEqualTo("done");
        assertThat(second.tell("read x")).isEqualTo(hash(2));
        assertThat(second.tell("write x 3")).isEqualTo("done");
        assertThat(read(buffer)).isEqualTo(SharingProcess.pattern(LENGTH, 3));
      }
      assertThat(second.tell("close x")).isEqualTo("done");
      assertThatThrownBy(() -> memory.openShared(ElementType.INT, "x", DEVICE))
          .isInstanceOf(TransferException.class);
    }
  }

  @Test
  void plainMemoryIsSharedWhileItsProcessLives() throws Exception {
    Map<String, String> plain = Map.of("tidepool.cuda.vmm", "none");
    try (Tidepool tidepool = Simulation.under(plain, this::open);
        SharingProcess other = SharingProcess.start(folder)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      try (UnifiedBuffer<int[]> buffer =
          memory.createShared(ElementType.INT, LENGTH, "x", DEVICE)) {
        buffer.copyFrom(SharingProcess.pattern(LENGTH, 1));
        assertThat(other.tell("open x")).isEqualTo("done");
        assertThat(other.tell("read x")).isEqualTo(hash(1));
        assertThat(other.tell("write x 2")).isEqualTo("done");
        assertThat(read(buffer)).isEqualTo(SharingProcess.pattern(LENGTH, 2));
        assertThat(other.tell("close x")).isEqualTo("done");
      }
    }
  }
}
