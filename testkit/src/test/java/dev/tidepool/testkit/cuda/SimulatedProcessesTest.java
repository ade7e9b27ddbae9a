package dev.tidepool.testkit.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SimulatedProcessesTest {
  private final SimulatedCuda simulation = SimulatedCuda.orSkip();
  private Driver cuda;
  @TempDir private Path folder;

  @BeforeEach
  void oneDevice() {
    cuda = Driver.with(simulation, 1);
  }

  @Test
  void aHostThatTouchesDeviceMemoryCrashes() throws IOException, InterruptedException {
    try (OtherProcess other = OtherProcess.start(Map.of(), folder, "touch")) {
      assertThat(other.exitCode()).isNotZero();
    }
    try (var files = Files.list(folder)) {
      assertThat(Files.readString(files.findFirst().orElseThrow())).contains("SIGSEGV");
    }
  }

  @Test
  void aHostThatTouchesManagedMemoryUnderAKernelCrashesWhereThatIsNotConcurrent()
      throws IOException, InterruptedException {
    try (OtherProcess other = OtherProcess.start(Map.of(), folder, "share")) {
      assertThat(other.readLine()).isEqualTo("touched");
      assertThat(other.exitCode()).isZero();
    }
    Map<String, String> notConcurrent = Map.of("TIDEPOOL_SIM", "attribute.89=0");
    try (OtherProcess other = OtherProcess.start(notConcurrent, folder, "share")) {
      assertThat(other.exitCode()).isNotZero();
    }
    try (var files = Files.list(folder)) {
      assertThat(Files.readString(files.findFirst().orElseThrow())).contains("SIGSEGV");
    }
  }

  @Test
  void theEnvironmentSetsUpAndAsksForAReport() throws IOException, InterruptedException {
    Path report = folder.resolve("report");
    Map<String, String> environment =
        Map.of(
            "TIDEPOOL_SIM",
            "devices=3 memory=1000000 1.memory=2000000",
            "TIDEPOOL_SIM_REPORT",
            report.toString());
    try (OtherProcess other = OtherProcess.start(environment, folder, "leak")) {
      assertThat(other.readLine()).isEqualTo("3 2000000");
      assertThat(other.exitCode()).isZero();
    }
    assertThat(Files.readAllLines(report))
        .anySatisfy(
            line ->
                assertThat(line)
                    .contains("not freed at exit: device memory")
                    .contains("777 bytes"));
  }

  @Test
  void anotherProcessOpensAllocatedMemory() throws IOException, InterruptedException {
    try (Arena arena = Arena.ofConfined()) {
      long memory = cuda.allocate(100_000);
      cuda.write(memory, Driver.pattern(100_000));
      MemorySegment handle = arena.allocate(64);
      cuda.must("cuIpcGetMemHandle", handle, memory);
      String hex = HexFormat.of().formatHex(handle.toArray(ValueLayout.JAVA_BYTE));
      assertThat(cuda.tryGet("cuIpcOpenMemHandle_v2", OtherProcess.handle(arena, hex), 1))
          .isEqualTo(Driver.INVALID_CONTEXT); // not in the exporter itself
      try (OtherProcess other = OtherProcess.start(Map.of(), folder, "open", hex)) {
        assertThat(other.readLine())
            .isEqualTo(HexFormat.of().formatHex(Arrays.copyOf(Driver.pattern(100), 16)));
        other.goOn();
        assertThat(other.readLine()).isEqualTo("[]");
        assertThat(other.exitCode()).isZero();
      }
      assertThat(cuda.read(memory, 3)).containsExactly(1, 2, 3);
      cuda.must("cuMemFree_v2", memory);
      assertThat(simulation.violations()).isEmpty();
    }
  }

  @Test
  void memoryFreedWhileAnotherProcessHasItOpenIsFoundOut() throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      long memory = cuda.allocate(100);
      MemorySegment handle = arena.allocate(64);
      cuda.must("cuIpcGetMemHandle", handle, memory);
      String hex = HexFormat.of().formatHex(handle.toArray(ValueLayout.JAVA_BYTE));
      try (OtherProcess other = OtherProcess.start(Map.of(), folder, "open", hex)) {
        other.readLine();
        cuda.must("cuMemFree_v2", memory);
        assertThat(simulation.violations())
            .singleElement()
            .asString()
            .contains("freed while others have it open");
      }
    }
  }

  @Test
  void exportedVirtualMemoryOutlivesItsProcess() throws Throwable {
    try (Arena arena = Arena.ofConfined();
        OtherProcess other = OtherProcess.start(Map.of(), folder, "export")) {
      var open =
          Linker.nativeLinker()
              .downcallHandle(
                  Linker.nativeLinker().defaultLookup().findOrThrow("open"),
                  FunctionDescriptor.of(
                      ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT),
                  Linker.Option.firstVariadicArg(2));
      int descriptor = (int) open.invokeExact(arena.allocateFrom(other.readLine()), 2);
      long memory = cuda.get("cuMemImportFromShareableHandle", (long) descriptor, 1);
      other.goOn();
      assertThat(other.exitCode()).isZero();
      assertThat(cuda.read(OtherProcess.map(cuda, arena, memory), 64))
          .isEqualTo(Driver.pattern(64));
    }
  }
}
