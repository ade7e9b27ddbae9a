package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.NativeHandle;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.metal.SimulatedMetal;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each thing that goes wrong has a name, and the other accelerators keep working. */
@ExtendWith(NothingLeaks.class)
class BadInputTest {
  private static final long PAGE = 16 << 10;

  private static UnifiedMemoryManager memory(Tidepool tidepool, String id) {
    return tidepool.memory(tidepool.accelerator(id));
  }

  private static void assertWorks(Tidepool tidepool, String... ids) {
    for (String id : ids) {
      UnifiedMemoryManager memory = memory(tidepool, id);
      try (UnifiedBuffer<int[]> x = memory.copyOf(new int[] {1, 2, 3})) {
        memory.compile(KernelSource.elementwise("x = 2*x")).execute(Arguments.of("x", x));
        int[] read = new int[3];
        x.copyTo(read);
        assertThat(read).as(id).containsExactly(2, 4, 6);
      }
    }
  }

  /** A process decides once which Metal it has. */
  @ParameterizedTest
  @CsvSource({
    "tidepool.metal.storage=auto, Metal is a part of macOS and this is",
    "tidepool.metal.library=/no/such/file, check the property tidepool.metal.library"
  })
  void withoutMetalANoteSaysSoAndTheProcessorComputes(String setting, String note)
      throws Exception {
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-Dos.name=Linux",
            "-D" + setting,
            "-cp",
            System.getProperty("java.class.path"),
            WithoutMetal.class.getName());
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    assertThat(output.replace(",", "")).contains(note).contains("works");
  }

  static final class WithoutMetal {
    private WithoutMetal() {}

    public static void main(String[] arguments) {
      // Simulation would bring one.
      List<AcceleratorProvider> metal = List.of(new MetalProvider());
      try (Tidepool tidepool = Discovery.using(metal, () -> Tidepool.open())) {
        assertThat(tidepool.accelerators()).extracting("id").containsExactly("cpu:0");
        assertWorks(tidepool, "cpu:0");
        System.out.println(tidepool.notes() + " works");
      }
    }
  }

  @Test
  void aKernelThatDoesNotCompileIsNamedWithTheLineAndAllGoOn() {
    Simulation.with(2);
    String source =
        """
        kernel void broken(device float* x [[buffer(0)]]) {
          x[0] = 1;
          x[1] = missing;
        }
        """;
    KernelSource broken =
        KernelSource.metal(source, "broken", KernelParameter.inout("x", ElementType.FLOAT));
    try (Tidepool tidepool = Simulation.open(new MetalProvider())) {
      assertThatThrownBy(() -> memory(tidepool, "metal:0").compile(broken))
          .isInstanceOfSatisfying(
              KernelCompilationException.class,
              wrong -> assertThat(wrong.log()).contains("program_source:3:", "missing"));
      assertWorks(tidepool, "metal:0", "metal:1", "cpu:0");
    }
  }

  @Test
  void aWorkingSetBeyondTheRecommendedOneIsNamedAndAllGoOn() {
    Simulation.with(2).setAll("working_set", 8 << 20);
    try (Tidepool tidepool = Simulation.open(new MetalProvider())) {
      UnifiedMemoryManager memory = memory(tidepool, "metal:0");
      try (UnifiedBuffer<byte[]> most = memory.allocate(ElementType.BYTE, 6 << 20)) {
        assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, 3 << 20))
            .isInstanceOf(OutOfDeviceMemoryException.class)
            .hasMessageContaining("the 8388608 bytes that the device recommends");
        assertThat(most.byteSize()).isEqualTo(6 << 20);
        assertWorks(tidepool, "metal:0", "metal:1", "cpu:0");
      }
      memory.allocate(ElementType.BYTE, 3 << 20).close();
    }
  }

  /** The number of buffers is limited, too; small ones lie in slabs. */
  @Test
  void moreBuffersThanTheDeviceCountsAreNamedAndAllGoOn() {
    SimulatedMetal simulated = Simulation.with(1);
    simulated.setAll("resources", 100);
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    try (Tidepool tidepool = Simulation.open(new MetalProvider())) {
      UnifiedMemoryManager memory = memory(tidepool, "metal:0");
      for (int i = 0; i < 10_000; i++) {
        buffers.add(memory.allocate(ElementType.BYTE, 1000));
      }
      assertThatThrownBy(
              () -> {
                for (int i = 0; i < 100; i++) {
                  buffers.add(memory.allocate(ElementType.BYTE, 3 << 20));
                }
              })
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("newBufferWithLength:options: answered nil");
      assertThat(simulated.notes()).first().asString().contains("100 resources");
      assertWorks(tidepool, "cpu:0");
      buffers.removeLast().close();
      assertWorks(tidepool, "metal:0");
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void sharedMemoryThatCannotBeMappedIsNamedAndPrivateMemoryWorks() {
    SimulatedMetal simulated = Simulation.with(1);
    simulated.fail("contents", 1, 1, -1);
    try (Tidepool tidepool = Simulation.open(new MetalProvider(), "shared")) {
      assertThatThrownBy(() -> memory(tidepool, "metal:0").allocate(ElementType.BYTE, 1000))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("metal:0")
          .hasMessageContaining("shared memory that the host does not reach")
          .hasMessageContaining("tidepool.metal.storage=private");
      assertWorks(tidepool, "cpu:0");
      simulated.forget();
      assertWorks(tidepool, "metal:0");
    }
  }

  @Test
  void pagesThatMetalDoesNotTakeAreCopied() {
    SimulatedMetal simulated = Simulation.with(1);
    simulated.fail("newBufferWithBytesNoCopy:length:options:deallocator:", 1, 1);
    try (Arena arena = Arena.ofShared();
        Tidepool tidepool = Simulation.open(new MetalProvider(), "shared")) {
      UnifiedMemoryManager memory = memory(tidepool, "metal:0");
      MemorySegment pages = arena.allocate(PAGE, PAGE);
      try (UnifiedBuffer<int[]> x =
          memory.adopt(ElementType.INT, NativeHandle.of(pages), () -> {})) {
        memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", x));
      }
      assertThat(pages.getAtIndex(ValueLayout.JAVA_INT, 1000)).isEqualTo(1);
    }
    assertThat(simulated.calls("newBufferWithBytesNoCopy:length:options:deallocator:"))
        .isPositive();
  }
}
