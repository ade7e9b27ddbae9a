package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
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
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Memory of a device that processes share by a name. */
@ExtendWith(NothingLeaks.class)
class SharedDeviceMemoryTest {
  private static final int LENGTH = 10_000;
  private static final MemoryLocation DEVICE = MemoryLocation.DEVICE;

  // Short, because a socket's path has 107 bytes.
  @TempDir private Path parent;
  private Path folder;
  private SimulatedCuda simulated;

  @BeforeEach
  void twoDevices() throws IOException {
    simulated = Simulation.with(2);
    folder = parent.resolve("s");
    Files.createDirectory(
        folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
  }

  private Tidepool open() {
    MemoryOptions options = MemoryOptions.builder().sharedDirectory(folder).build();
    return Discovery.using(List.of(new CudaProvider()), () -> Tidepool.open(options));
  }

  private static UnifiedMemoryManager memory(Tidepool tidepool) {
    return tidepool.memory(tidepool.accelerator("cuda:0"));
  }

  private static int[] read(UnifiedBuffer<int[]> buffer) {
    int[] read = new int[(int) buffer.length()];
    buffer.copyTo(read);
    return read;
  }

  private static String hash(int seed) {
    return Arrays.hashCode(SharingProcess.pattern(LENGTH, seed)) + "";
  }

  /** Descriptors of device memory that this process has. */
  private static long descriptors() throws IOException {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return open.filter(each -> target(each).contains("tidepool-physical")).count();
    }
  }

  private static String target(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (IOException closedMeanwhile) {
      return "";
    }
  }

  private void assertNothingIsLeft() {
    // The thread that answers ends a moment after the close.
    await()
        .untilAsserted(
            () -> {
              try (Stream<Path> files = Files.list(folder)) {
                assertThat(files).isEmpty();
              }
              assertThat(descriptors()).isZero();
            });
  }

  @Test
  void aCloseMeetsSharedMemoryThatIsBeingMadeAndOpened() throws Exception {
    try (Tidepool maker = open();
        UnifiedBuffer<int[]> known =
            memory(maker).createShared(ElementType.INT, LENGTH, "known", DEVICE);
        ExecutorService threads = Executors.newFixedThreadPool(2)) {
      known.copyFrom(SharingProcess.pattern(LENGTH, 1));
      for (int round = 0; round < 16; round++) {
        Tidepool tidepool = open();
        UnifiedMemoryManager manager = memory(tidepool);
        AtomicInteger number = new AtomicInteger();
        Callable<Throwable> creates =
            () ->
                catchThrowable(
                    () -> {
                      while (true) {
                        String name = "n" + number.incrementAndGet();
                        manager.createShared(ElementType.INT, LENGTH, name, DEVICE).close();
                      }
                    });
        Callable<Throwable> opens =
            () ->
                catchThrowable(
                    () -> {
                      while (true) {
                        manager.openShared(ElementType.INT, "known", DEVICE).close();
                      }
                    });
        Future<Throwable> created = threads.submit(creates);
        Future<Throwable> opened = threads.submit(opens);
        int before = round % 8;
        await().until(() -> number.get() >= before);
        if (round % 2 == 0) {
          tidepool.close();
        } else {
          manager.close();
        }
        assertThat(created.get()).hasMessageContaining("is closed");
        assertThat(opened.get()).hasMessageContaining("is closed");
        tidepool.close();
      }
      assertThat(read(known)).isEqualTo(SharingProcess.pattern(LENGTH, 1));
    }
    assertNothingIsLeft();
  }

  @Test
  void whatOneWritesTheOtherReadsAndComputesWith() {
    try (Tidepool one = open();
        Tidepool other = open()) {
      try (UnifiedBuffer<int[]> mine =
              memory(one).createShared(ElementType.INT, LENGTH, "x", DEVICE);
          UnifiedBuffer<int[]> theirs = memory(other).openShared(ElementType.INT, "x", DEVICE)) {
        assertThat(theirs.length()).isEqualTo(LENGTH);
        assertThat(theirs.location()).isEqualTo(DEVICE);
        assertThat(theirs.state()).isEqualTo(BufferState.DEVICE_ONLY);
        assertThat(read(theirs)).containsOnly(0);
        mine.copyFrom(SharingProcess.pattern(LENGTH, 1));
        assertThat(read(theirs)).isEqualTo(SharingProcess.pattern(LENGTH, 1));
        memory(other)
            .compile(KernelSource.elementwise("x = x + 1"))
            .execute(Arguments.of("x", theirs));
        assertThat(read(mine)).isEqualTo(SharingProcess.pattern(LENGTH, 2));
      }
      assertNothingIsLeft();
    }
  }

  @Test
  void twoProcessesExchangeDataAndTheMemoryOutlivesItsMaker() throws Exception {
    try (Tidepool tidepool = open();
        SharingProcess first = SharingProcess.start(simulated, folder);
        SharingProcess second = SharingProcess.start(simulated, folder)) {
      assertThat(first.tell("create x " + LENGTH)).isEqualTo("done");
      assertThat(first.tell("write x 1")).isEqualTo("done");
      try (UnifiedBuffer<int[]> buffer =
          memory(tidepool).openShared(ElementType.INT, "x", DEVICE)) {
        assertThat(read(buffer)).isEqualTo(SharingProcess.pattern(LENGTH, 1));
        buffer.copyFrom(SharingProcess.pattern(LENGTH, 2));
        assertThat(first.tell("read x")).isEqualTo(hash(2));
        assertThat(first.tell("close x")).isEqualTo("done");
        first.kill();
        // From this process, now that its maker is gone.
        assertThat(second.tell("open x")).isEqualTo("done");
        assertThat(second.tell("read x")).isEqualTo(hash(2));
        assertThat(second.tell("write x 3")).isEqualTo("done");
        assertThat(read(buffer)).isEqualTo(SharingProcess.pattern(LENGTH, 3));
      }
      assertThat(second.tell("read x")).isEqualTo(hash(3));
      assertThat(second.tell("close x")).isEqualTo("done");
      assertNothingIsLeft();
    }
  }

  @Test
  void whatAKilledProcessHadIsNobodysOrThoseOfOthersWhoStillHaveIt() throws Exception {
    int rounds = Integer.getInteger("tidepool.shared.rounds", 3);
    try (Tidepool tidepool = open()) {
      UnifiedMemoryManager memory = memory(tidepool);
      for (int round = 0; round < rounds; round++) {
        try (SharingProcess victim = SharingProcess.start(simulated, folder)) {
          assertThat(victim.tell("create kept " + LENGTH)).isEqualTo("done");
          assertThat(victim.tell("write kept " + round)).isEqualTo("done");
          assertThat(victim.tell("create lost " + LENGTH)).isEqualTo("done");
          UnifiedBuffer<int[]> kept = memory.openShared(ElementType.INT, "kept", DEVICE);
          victim.kill();
          assertThat(read(kept)).isEqualTo(SharingProcess.pattern(LENGTH, round));
          assertThatThrownBy(() -> memory.openShared(ElementType.INT, "lost", DEVICE))
              .isInstanceOf(TransferException.class)
              .hasCauseInstanceOf(NoSuchFileException.class);
          UnifiedBuffer<int[]> again = memory.createShared(ElementType.INT, LENGTH, "lost", DEVICE);
          memory.openShared(ElementType.INT, "lost", DEVICE).close();
          again.close();
          kept.close();
        }
        assertNothingIsLeft();
      }
    }
  }

  @Test
  void aBufferOfOtherElementsOfAnotherDeviceOrOfTheHostIsNotTakenForIt() {
    try (Tidepool tidepool = open()) {
      UnifiedMemoryManager memory = memory(tidepool);
      UnifiedMemoryManager neighbour = tidepool.memory(tidepool.accelerator("cuda:1"));
      UnifiedBuffer<int[]> buffer = memory.createShared(ElementType.INT, LENGTH, "x", DEVICE);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> memory.openShared(ElementType.FLOAT, "x", DEVICE))
          .withMessageContaining("open it with the type that created it");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> neighbour.openShared(ElementType.INT, "x", DEVICE))
          .withMessageContaining("of another device than cuda:1");
      assertThatThrownBy(() -> memory.openShared(ElementType.INT, "x"))
          .isInstanceOf(TransferException.class)
          .hasCauseInstanceOf(NoSuchFileException.class);
      assertThatThrownBy(() -> memory.createShared(ElementType.INT, 1, "x", DEVICE))
          .isInstanceOf(TransferException.class)
          .hasCauseInstanceOf(FileAlreadyExistsException.class);
      for (String name : List.of("../x", "", "a/b", "n".repeat(200))) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> memory.createShared(ElementType.INT, 1, name, DEVICE));
      }
      for (MemoryLocation own : List.of(MemoryLocation.PINNED, MemoryLocation.UNIFIED)) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> memory.createShared(ElementType.INT, 1, "y", own));
      }
      buffer.close();
      buffer.close();
      assertThatThrownBy(() -> memory.openShared(ElementType.INT, "x", DEVICE))
          .isInstanceOf(TransferException.class)
          .hasCauseInstanceOf(NoSuchFileException.class);
    }
    assertNothingIsLeft();
  }

  @Test
  void itHasNoViewOfTheHostAndStaysOnTheDevice() {
    MemoryOptions options =
        MemoryOptions.builder()
            .sharedDirectory(folder)
            .spillDirectory(parent)
            .zeroOnRelease(true)
            .build();
    try (Tidepool tidepool =
        Discovery.using(List.of(new CudaProvider()), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = memory(tidepool);
      UnifiedBuffer<int[]> buffer = memory.createShared(ElementType.INT, LENGTH, "x", DEVICE);
      UnifiedBuffer<int[]> second = memory.openShared(ElementType.INT, "x", DEVICE);
      buffer.copyFrom(SharingProcess.pattern(LENGTH, 5));
      for (Runnable view :
          List.<Runnable>of(
              buffer::asSegment,
              buffer::asReadOnlySegment,
              buffer::synchronize,
              () -> buffer.map(MapMode.READ).close())) {
        assertThatThrownBy(view::run)
            .isInstanceOf(UnsupportedOperationException.class)
            .hasMessageContaining("shared with other processes");
      }
      // As much as the card has, so that everything idle has to go.
      assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, 1 << 30))
          .isInstanceOf(TidepoolException.class);
      assertThat(buffer.state()).isEqualTo(BufferState.DEVICE_ONLY);
      // It is not overwritten either: other processes still have it.
      buffer.close();
      assertThat(read(second)).isEqualTo(SharingProcess.pattern(LENGTH, 5));
      second.close();
    }
    assertNothingIsLeft();
  }

  @Test
  void anEmptyBufferAndOneOfManyPiecesAreShared() {
    try (Tidepool tidepool = open()) {
      UnifiedMemoryManager memory = memory(tidepool);
      for (int length : new int[] {0, 1, (5 << 20) / 4 + 3}) {
        try (UnifiedBuffer<int[]> buffer =
                memory.createShared(ElementType.INT, length, "x", DEVICE);
            UnifiedBuffer<int[]> same = memory.openShared(ElementType.INT, "x", DEVICE)) {
          buffer.copyFrom(SharingProcess.pattern(length, 7));
          assertThat(read(same)).isEqualTo(SharingProcess.pattern(length, 7));
        }
      }
    }
    assertNothingIsLeft();
  }

  @Test
  void whereTheDeviceCannotShareThatIsSaid() {
    Tidepool without = Simulation.under(Map.of("tidepool.cuda.vmm", "none"), this::open);
    try (without) {
      simulated.fail("cuIpcGetMemHandle", 1, ErrorCodes.CUDA_ERROR_NOT_SUPPORTED);
      assertThatThrownBy(() -> memory(without).createShared(ElementType.INT, 1, "x", DEVICE))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("does not support cuIpcGetMemHandle")
          .hasMessageContaining("MemoryLocation.HOST");
      memory(without).createShared(ElementType.INT, 1, "x", MemoryLocation.HOST).close();
    }
    assertNothingIsLeft();
  }

  @Test
  void onAnAcceleratorOfTheHostsMemoryItIsTheHosts() {
    try (Tidepool tidepool = open()) {
      UnifiedMemoryManager cpu = tidepool.memory(tidepool.accelerator("cpu:0"));
      try (UnifiedBuffer<int[]> buffer = cpu.createShared(ElementType.INT, 10, "x", DEVICE);
          UnifiedBuffer<int[]> same = cpu.openShared(ElementType.INT, "x")) {
        buffer.copyFrom(SharingProcess.pattern(10, 1));
        assertThat(read(same)).isEqualTo(SharingProcess.pattern(10, 1));
      }
    }
    assertNothingIsLeft();
  }

  @Test
  void whatPoolsKeepMakesRoomForIt() {
    try (Tidepool tidepool = open()) {
      UnifiedMemoryManager memory = memory(tidepool);
      memory.allocate(ElementType.INT, 1 << 20, DEVICE).close();
      assertThat(memory.statistics().totalPooled()).isPositive();
      simulated.fail("cuMemCreate", 1, ErrorCodes.CUDA_ERROR_OUT_OF_MEMORY);
      memory.createShared(ElementType.INT, LENGTH, "x", DEVICE).close();
      assertThat(memory.statistics().totalPooled()).isZero();
    }
    assertNothingIsLeft();
  }

  @Test
  void idleBuffersMakeRoomForItAndLoseNothing() {
    simulated.set(0, "memory", 64 << 20);
    try (Tidepool tidepool = open()) {
      UnifiedMemoryManager memory = memory(tidepool);
      List<UnifiedBuffer<int[]>> idle = new ArrayList<>();
      for (int i = 0; i < 15; i++) {
        idle.add(memory.allocate(ElementType.INT, 1 << 20, DEVICE));
        idle.getLast().copyFrom(SharingProcess.pattern(1 << 20, i));
      }
      try (UnifiedBuffer<int[]> shared =
          memory.createShared(ElementType.INT, 4 << 20, "x", DEVICE)) {
        shared.copyFrom(SharingProcess.pattern(4 << 20, 99));
        assertThat(memory.statistics().evictions()).isPositive();
        for (int i = 0; i < idle.size(); i++) {
          assertThat(read(idle.get(i))).isEqualTo(SharingProcess.pattern(1 << 20, i));
        }
        assertThat(read(shared)).isEqualTo(SharingProcess.pattern(4 << 20, 99));
      }
      idle.forEach(UnifiedBuffer::close);
    }
    assertNothingIsLeft();
  }

  @Test
  void whatCannotBeHadIsRefusedWithTheNumbers() {
    simulated.set(0, "memory", 64 << 20);
    try (Tidepool tidepool = open()) {
      assertThatThrownBy(() -> memory(tidepool).createShared(ElementType.INT, 1 << 25, "x", DEVICE))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("cuda:0");
      memory(tidepool).createShared(ElementType.INT, LENGTH, "x", DEVICE).close();
    }
    assertNothingIsLeft();
  }

  @Test
  void whateverCallFailsNothingIsLeft() {
    try (Tidepool tidepool = open()) {
      UnifiedMemoryManager memory = memory(tidepool);
      List<String> making =
          List.of("cuMemCreate", "cuMemExportToShareableHandle", "cuMemMap", "cuMemSetAccess");
      for (String function : making) {
        // CUDA_ERROR_UNKNOWN
        simulated.fail(function, 1, 999);
        assertThatThrownBy(() -> memory.createShared(ElementType.INT, LENGTH, "x", DEVICE))
            .as(function)
            .isInstanceOf(TidepoolException.class);
        assertNothingIsLeft();
      }
      try (UnifiedBuffer<int[]> buffer =
          memory.createShared(ElementType.INT, LENGTH, "x", DEVICE)) {
        Map<ObjectKind, Long> before = Simulation.liveObjects();
        for (String function :
            List.of("cuMemImportFromShareableHandle", "cuMemMap", "cuMemSetAccess")) {
          simulated.fail(function, 1, 999);
          assertThatThrownBy(() -> memory.openShared(ElementType.INT, "x", DEVICE))
              .as(function)
              .isInstanceOf(TidepoolException.class);
          assertThat(Simulation.liveObjects()).as(function).isEqualTo(before);
        }
        memory.openShared(ElementType.INT, "x", DEVICE).close();
        assertThat(read(buffer)).containsOnly(0);
      }
      assertNothingIsLeft();
    }
  }
}
