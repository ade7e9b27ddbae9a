package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.TidepoolException;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Memory of a device that processes share where the driver has handles of plain memory alone: the
 * process that made it owns it, and does not free it while others have it.
 */
@ExtendWith(NothingLeaks.class)
class SharedPlainMemoryTest {
  private static final int LENGTH = 10_000;
  private static final MemoryLocation DEVICE = MemoryLocation.DEVICE;
  private static final String PLAIN = "-Dtidepool.cuda.vmm=none";

  @TempDir private static Path parent;
  private static Path folder;

  /** One for all tests that leave it alive, since a process takes a second to begin. */
  private static SharingProcess other;

  private SimulatedCuda simulated;
  private final ConcurrentLinkedQueue<String> warnings = new ConcurrentLinkedQueue<>();
  // Kept, because a logger without owner forgets its handlers.
  private final Logger logger = Logger.getLogger(IpcMemory.class.getName());
  private final Handler listening =
      new Handler() {
        @Override
        public void publish(LogRecord record) {
          warnings.add(record.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeAll
  static void anotherProcess() throws IOException {
    // Short, because a socket's path has 107 bytes.
    folder = parent.resolve("s");
    Files.createDirectory(
        folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    other = another(Simulation.with(1));
  }

  @AfterAll
  static void endIt() {
    if (other != null) {
      other.close();
    }
  }

  @BeforeEach
  void oneDevice() {
    simulated = Simulation.with(1);
    logger.addHandler(listening);
    logger.setUseParentHandlers(false);
  }

  @AfterEach
  void listenNoMore() {
    logger.removeHandler(listening);
    logger.setUseParentHandlers(true);
  }

  private Tidepool open() {
    MemoryOptions options =
        MemoryOptions.builder().sharedDirectory(folder).calibration(false).build();
    return Simulation.under(
        Map.of("tidepool.cuda.vmm", "none"),
        () -> Discovery.using(List.of(new CudaProvider()), () -> Tidepool.open(options)));
  }

  private static SharingProcess another(SimulatedCuda simulated) throws IOException {
    return SharingProcess.start(simulated, folder, PLAIN);
  }

  private static UnifiedMemoryManager memory(Tidepool tidepool) {
    return tidepool.memory(tidepool.accelerator("cuda:0"));
  }

  private static UnifiedBuffer<int[]> opened(Tidepool tidepool) {
    return memory(tidepool).openShared(ElementType.INT, "x", DEVICE);
  }

  private static UnifiedBuffer<int[]> created(Tidepool tidepool) {
    return memory(tidepool).createShared(ElementType.INT, LENGTH, "x", DEVICE);
  }

  private static int[] read(UnifiedBuffer<int[]> buffer) {
    int[] read = new int[(int) buffer.length()];
    buffer.copyTo(read);
    return read;
  }

  private static int[] pattern(int seed) {
    return SharingProcess.pattern(LENGTH, seed);
  }

  private static String hash(int seed) {
    return Arrays.hashCode(pattern(seed)) + "";
  }

  private void assertNothingIsLeft() {
    // A process that waits for others frees the memory a moment after them.
    await()
        .untilAsserted(
            () -> {
              try (Stream<Path> files = Files.list(folder)) {
                assertThat(files).isEmpty();
              }
              assertThat(simulated.leaks()).isEmpty();
              assertThat(ObjectKind.LIVE.count(ObjectKind.CONTEXT)).isZero();
            });
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void twoProcessesExchangeData() throws Exception {
    try (Tidepool tidepool = open()) {
      try (UnifiedBuffer<int[]> buffer = created(tidepool)) {
        assertThat(read(buffer)).containsOnly(0);
        buffer.copyFrom(pattern(1));
        assertThat(other.tell("open x")).isEqualTo("done");
        assertThat(other.tell("read x")).isEqualTo(hash(1));
        assertThat(other.tell("write x 2")).isEqualTo("done");
        assertThat(read(buffer)).isEqualTo(pattern(2));
        assertThat(other.tell("close x")).isEqualTo("done");
      }
      assertThat(simulated.calls("cuIpcGetMemHandle")).isOne();
      assertThat(simulated.calls("cuMemCreate")).isZero();
    }
    assertNothingIsLeft();
    assertThat(warnings).isEmpty();
  }

  @Test
  void whatTheMakerClosesStaysUntilTheOtherClosesItAndTheLogSaysWhoHasIt() throws Exception {
    try (Tidepool tidepool = open()) {
      UnifiedBuffer<int[]> buffer = created(tidepool);
      buffer.copyFrom(pattern(1));
      assertThat(other.tell("open x")).isEqualTo("done");
      buffer.close();
      await().until(() -> !warnings.isEmpty());
      assertThat(warnings)
          .singleElement()
          .asString()
          .contains("stay until processes [" + other.id() + "] close them");
      assertThat(simulated.calls("cuMemFree_v2")).isZero();
      assertThat(other.tell("read x")).isEqualTo(hash(1));
      // The maker's process can open it again meanwhile.
      try (UnifiedBuffer<int[]> again = opened(tidepool)) {
        again.copyFrom(pattern(3));
        assertThat(other.tell("read x")).isEqualTo(hash(3));
      }
      assertThat(other.tell("close x")).isEqualTo("done");
      await().until(() -> simulated.calls("cuMemFree_v2") == 1);
    }
    assertNothingIsLeft();
  }

  @Test
  void itStaysThoughTheMakersDeviceIsClosed() throws Exception {
    try (Tidepool tidepool = open()) {
      created(tidepool).copyFrom(pattern(4));
      assertThat(other.tell("open x")).isEqualTo("done");
    }
    assertThat(other.tell("read x")).isEqualTo(hash(4));
    assertThat(other.tell("write x 5")).isEqualTo("done");
    assertThat(other.tell("read x")).isEqualTo(hash(5));
    assertThat(other.tell("close x")).isEqualTo("done");
    assertNothingIsLeft();
  }

  @Test
  void whoIsKilledHoldsItNoLonger() throws Exception {
    try (Tidepool tidepool = open()) {
      UnifiedBuffer<int[]> buffer = created(tidepool);
      try (SharingProcess victim = another(simulated)) {
        assertThat(other.tell("open x")).isEqualTo("done");
        assertThat(victim.tell("open x")).isEqualTo("done");
        buffer.close();
        assertThat(other.tell("write x 6")).isEqualTo("done");
        assertThat(other.tell("close x")).isEqualTo("done");
        assertThat(victim.tell("read x")).isEqualTo(hash(6));
        assertThat(simulated.calls("cuMemFree_v2")).isZero();
        victim.kill();
      }
      await().until(() -> simulated.calls("cuMemFree_v2") == 1);
      // Its file is swept when the next one is made.
      created(tidepool).close();
    }
    assertNothingIsLeft();
  }

  @Test
  void aMakerThatWasKilledIsNamedToWhoOpens() throws Exception {
    try (Tidepool tidepool = open();
        SharingProcess maker = another(simulated)) {
      assertThat(maker.tell("create x " + LENGTH)).isEqualTo("done");
      assertThat(other.tell("open x")).isEqualTo("done");
      maker.kill();
      assertThatThrownBy(() -> opened(tidepool))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("process " + maker.id() + ", which made this memory")
          .hasMessageContaining("create it again");
      assertThat(other.tell("close x")).isEqualTo("done");
    }
    assertNothingIsLeft();
  }

  @Test
  void withinOneProcessItIsTheSameMemoryWhoeverClosesFirst() {
    for (boolean makerFirst : new boolean[] {true, false}) {
      try (Tidepool one = open();
          Tidepool two = open()) {
        UnifiedBuffer<int[]> mine = created(one);
        UnifiedBuffer<int[]> theirs = opened(two);
        mine.copyFrom(pattern(7));
        memory(two)
            .compile(KernelSource.elementwise("x = x + 1"))
            .execute(Arguments.of("x", theirs));
        (makerFirst ? mine : theirs).close();
        assertThat(read(makerFirst ? theirs : mine)).isEqualTo(pattern(8));
        (makerFirst ? theirs : mine).close();
      }
      assertNothingIsLeft();
    }
    assertThat(simulated.calls("cuIpcOpenMemHandle_v2")).isZero();
  }

  @Test
  void twoUsersInOneProcessOpenItOnce() throws Exception {
    try (Tidepool one = open();
        Tidepool two = open()) {
      assertThat(other.tell("create x " + LENGTH)).isEqualTo("done");
      assertThat(other.tell("write x 9")).isEqualTo("done");
      UnifiedBuffer<int[]> first = opened(one);
      UnifiedBuffer<int[]> second = opened(two);
      assertThat(other.tell("close x")).isEqualTo("done");
      first.close();
      assertThat(read(second)).isEqualTo(pattern(9));
      second.close();
      assertThat(simulated.calls("cuIpcOpenMemHandle_v2")).isOne();
      assertThat(simulated.calls("cuIpcCloseMemHandle")).isOne();
    }
    assertNothingIsLeft();
  }

  @Test
  void moreThanTheCardHasIsAnErrorWithTheNumbers() {
    try (Tidepool tidepool = open()) {
      assertThatThrownBy(
              () -> memory(tidepool).createShared(ElementType.BYTE, 2L << 30, "x", DEVICE))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("a buffer of " + (2L << 30) + " bytes is larger than the largest");
    }
    assertNothingIsLeft();
  }

  @Test
  void whateverCallFailsNothingIsLeft() throws Exception {
    try (Tidepool tidepool = open()) {
      for (String function :
          List.of("cuMemAlloc_v2", "cuIpcGetMemHandle", "cuDevicePrimaryCtxRetain")) {
        // CUDA_ERROR_UNKNOWN
        simulated.fail(function, 1, 999);
        assertThatThrownBy(() -> created(tidepool))
            .as(function)
            .isInstanceOf(TidepoolException.class);
      }
      assertThat(other.tell("create x " + LENGTH)).isEqualTo("done");
      Map<ObjectKind, Long> before = Simulation.liveObjects();
      for (String function : List.of("cuIpcOpenMemHandle_v2", "cuDevicePrimaryCtxRetain")) {
        simulated.fail(function, 1, 999);
        assertThatThrownBy(() -> opened(tidepool))
            .as(function)
            .isInstanceOf(TidepoolException.class);
        assertThat(Simulation.liveObjects()).as(function).isEqualTo(before);
      }
      opened(tidepool).close();
      assertThat(other.tell("close x")).isEqualTo("done");
    }
    assertNothingIsLeft();
  }
}
