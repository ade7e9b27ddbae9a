package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Hand-written kernels: what is refused, and how. */
@ExtendWith(NothingLeaks.class)
class KernelTest {
  private static final String SCALE =
      """
      kernel void scale(device float* x [[buffer(0)]], constant float& a [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
        x[i] *= a;
      }
      """;
  private static final KernelParameter X = KernelParameter.inout("x", ElementType.FLOAT);
  private static final KernelParameter A = KernelParameter.scalar("a", ElementType.FLOAT);

  private Tidepool tidepool;
  private UnifiedMemoryManager memory;

  @BeforeEach
  void open() {
    Simulation.with(1);
    tidepool = Simulation.open(new MetalProvider());
    memory = tidepool.memory(tidepool.accelerator("metal:0"));
  }

  @AfterEach
  void close() {
    tidepool.close();
  }

  @Test
  void itRunsOnASliceAtAnyOffset() {
    Kernel scale = memory.compile(KernelSource.metal(SCALE, "scale", X, A));
    try (UnifiedBuffer<float[]> x = memory.copyOf(new float[] {1, 2, 3, 4})) {
      scale.execute(Arguments.of("x", x.slice(1, 2), "a", 10f));
      float[] all = new float[4];
      x.copyTo(all);
      assertThat(all).containsExactly(1, 20, 30, 4);
    }
  }

  /** A view of bytes at an offset that no float may have. */
  @Test
  void bytesThatBeginWithinAnElementAreStaged() {
    Kernel scale = memory.compile(KernelSource.metal(SCALE, "scale", X, A));
    try (UnifiedBuffer<byte[]> bytes = memory.allocate(ElementType.BYTE, 403)) {
      UnifiedBuffer<float[]> x = bytes.slice(3, 400).as(ElementType.FLOAT);
      x.fill(new float[] {1.5f});
      scale.execute(Arguments.of("x", x, "a", 2f));
      float[] all = new float[100];
      x.copyTo(all);
      assertThat(all).containsOnly(3);
    }
  }

  /** Which cards take at multiples of 256 bytes only. */
  @ParameterizedTest
  @ValueSource(longs = {1, 0})
  void constantMemoryIsASliceAtAnyOffset(long unified) {
    tidepool.close();
    Simulation.with(1).setAll("unified", unified);
    tidepool = Simulation.open(new MetalProvider());
    UnifiedMemoryManager manager = tidepool.memory(tidepool.accelerator("metal:0"));
    Kernel add =
        manager.compile(
            KernelSource.metal(
                """
                kernel void add(device float* x [[buffer(0)]], constant float* y [[buffer(1)]],
                                uint i [[thread_position_in_grid]]) {
                  x[i] += y[i];
                }
                """,
                "add",
                X,
                KernelParameter.in("y", ElementType.FLOAT)));
    try (UnifiedBuffer<float[]> x = manager.copyOf(new float[] {1, 2});
        UnifiedBuffer<float[]> y = manager.copyOf(new float[] {10, 20, 30, 40})) {
      add.execute(Arguments.of("x", x, "y", y.slice(1, 2)));
      float[] sums = new float[2];
      x.copyTo(sums);
      assertThat(sums).containsExactly(21, 32);
    }
  }

  @Test
  void parametersOfAnotherNumberAreRefused() {
    assertThatThrownBy(() -> memory.compile(KernelSource.metal(SCALE, "scale", X)))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("kernel 'scale' takes 2 parameters")
        .hasMessageContaining("1 was declared [x]");
    assertThatThrownBy(
            () ->
                memory.compile(
                    KernelSource.metal(
                        SCALE, "scale", X, A, KernelParameter.in("z", ElementType.INT))))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("3 were declared [x, a, z]");
  }

  @Test
  void parametersOfAnotherTypeAreRefusedByName() {
    assertThatThrownBy(
            () ->
                memory.compile(
                    KernelSource.metal(
                        SCALE, "scale", KernelParameter.inout("x", ElementType.INT), A)))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("float x [[buffer(0)]]")
        .hasMessageContaining("an array of INT called x");
    assertThatThrownBy(
            () ->
                memory.compile(
                    KernelSource.metal(
                        SCALE, "scale", X, KernelParameter.scalar("a", ElementType.DOUBLE))))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("a scalar of DOUBLE called a");
  }

  @Test
  void aNameThatIsNotThereIsAnsweredWithThoseThatAre() {
    assertThatThrownBy(() -> memory.compile(KernelSource.metal(SCALE, "scales", X, A)))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("no kernel function 'scales'; it has scale");
  }

  @Test
  void anErrorHasItsLineAndTheLog() {
    assertThatThrownBy(() -> memory.compile(KernelSource.metal("\n\nkernel void f() { x; }", "f")))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("metal:0")
        .hasMessageContaining("refused the source of kernel 'f': program_source:3:")
        .satisfies(
            thrown -> assertThat(((KernelCompilationException) thrown).log()).contains("error"));
  }

  @Test
  void groupsThatAreTooLargeAreRefused() {
    Kernel scale = memory.compile(KernelSource.metal(SCALE, "scale", X, A));
    Arguments arguments = Arguments.of("x", new float[4096], "a", 2f);
    assertThatThrownBy(() -> scale.execute(arguments, LaunchRange.of(4096).inGroupsOf(2048)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("groups of [2048] are too large for kernel 'scale' on metal:0")
        .hasMessageContaining("at most 1024 items");
    assertThatThrownBy(() -> scale.execute(arguments, LaunchRange.of(4096).withLocalMemory(16)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("takes no local memory");
  }

  @Test
  void sourcesInOtherLanguagesAreUnsupported() {
    assertThatThrownBy(
            () -> memory.compile(KernelSource.opencl("kernel void f(global float* x) {}", "f", X)))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("metal:0 runs elementwise, Java method and Metal kernels");
  }
}
