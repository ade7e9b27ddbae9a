package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Fills are the driver's own command where the pattern has 1, 2 or 4 bytes. */
@ExtendWith(NothingLeaks.class)
class FillTest {
  private SimulatedCuda simulated;

  @BeforeEach
  void oneDevice() {
    simulated = Simulation.with(1);
  }

  private interface Filling {
    void of(UnifiedMemoryManager memory);
  }

  /** How often each of the driver's commands was submitted that writes to the device. */
  private Map<String, Long> callsOf(Filling filling) {
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      simulated.forget();
      filling.of(memory);
      Map<String, Long> calls = simulated.calls();
      calls
          .keySet()
          .removeIf(name -> !name.startsWith("cuMemset") && !name.startsWith("cuMemcpyHtoD"));
      return calls;
    }
  }

  @Test
  void aByteIsSetByMemsetD8() {
    assertThat(
            callsOf(
                memory -> {
                  try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 1001)) {
                    buffer.fill((byte) 7);
                    byte[] read = new byte[1001];
                    buffer.copyTo(read);
                    assertThat(read).containsOnly(7);
                  }
                }))
        .isEqualTo(Map.of("cuMemsetD8Async", 1L));
  }

  @Test
  void aShortIsSetByMemsetD16() {
    assertThat(
            callsOf(
                memory -> {
                  try (UnifiedBuffer<short[]> buffer = memory.allocate(ElementType.SHORT, 1001)) {
                    buffer.fill(new short[] {-2});
                    short[] read = new short[1001];
                    buffer.copyTo(read);
                    assertThat(read).containsOnly((short) -2);
                  }
                }))
        .isEqualTo(Map.of("cuMemsetD16Async", 1L));
  }

  @Test
  void aFloatIsSetByMemsetD32AndNothingBesideTheSlice() {
    assertThat(
            callsOf(
                memory -> {
                  try (UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 1001)) {
                    buffer.fill((byte) 0);
                    buffer.slice(3, 900).fill(new float[] {1.5f});
                    float[] read = new float[1001];
                    buffer.copyTo(read);
                    for (int i = 0; i < read.length; i++) {
                      assertThat(read[i]).as("at %d", i).isEqualTo(i >= 3 && i < 903 ? 1.5f : 0);
                    }
                  }
                }))
        .isEqualTo(Map.of("cuMemsetD8Async", 1L, "cuMemsetD32Async", 1L));
  }

  @Test
  void aWiderPatternThatRepeatsAShorterOneIsThatOne() {
    assertThat(
            callsOf(
                memory -> {
                  try (UnifiedBuffer<long[]> buffer = memory.allocate(ElementType.LONG, 100)) {
                    buffer.fill(new long[] {-1});
                    buffer.fill(new long[] {0x0001_0001_0001_0001L});
                    buffer.fill(new long[] {0x0000_0009_0000_0009L, 0x0000_0009_0000_0009L});
                    long[] read = new long[100];
                    buffer.copyTo(read);
                    assertThat(read).containsOnly(0x0000_0009_0000_0009L);
                  }
                }))
        .isEqualTo(Map.of("cuMemsetD8Async", 1L, "cuMemsetD16Async", 1L, "cuMemsetD32Async", 1L));
  }

  @Test
  void anyOtherPatternGoesThereOnceAndIsDoubledThere() {
    assertThat(
            callsOf(
                memory -> {
                  try (UnifiedBuffer<double[]> buffer = memory.allocate(ElementType.DOUBLE, 1001)) {
                    buffer.fill(new double[] {1.1, 2.2, 3.3});
                    double[] read = new double[1001];
                    buffer.copyTo(read);
                    for (int i = 0; i < read.length; i++) {
                      assertThat(read[i]).as("at %d", i).isEqualTo(1.1 * (i % 3 + 1), within());
                    }
                  }
                }))
        .isEqualTo(Map.of("cuMemcpyHtoDAsync_v2", 1L));
  }

  @Test
  void threeBytesAreNoWord() {
    assertThat(
            callsOf(
                memory -> {
                  try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 1000)) {
                    buffer.fill(new byte[] {1, 2, 3});
                    byte[] read = new byte[1000];
                    buffer.copyTo(read);
                    for (int i = 0; i < read.length; i++) {
                      assertThat(read[i]).as("at %d", i).isEqualTo((byte) (i % 3 + 1));
                    }
                  }
                }))
        .isEqualTo(Map.of("cuMemcpyHtoDAsync_v2", 1L));
  }

  private static org.assertj.core.data.Offset<Double> within() {
    return org.assertj.core.data.Offset.offset(1e-12);
  }

  @Test
  void wordsThatTheDriverWouldRefuseForTheirPlaceAreSetAllTheSame() {
    Map<String, Long> calls =
        callsOf(
            memory -> {
              try (UnifiedBuffer<byte[]> bytes = memory.allocate(ElementType.BYTE, 401);
                  UnifiedBuffer<byte[]> odd = bytes.slice(1, 400);
                  UnifiedBuffer<int[]> words = odd.as(ElementType.INT)) {
                words.fill(new int[] {0x01020304});
                int[] read = new int[100];
                words.copyTo(read);
                assertThat(read).containsOnly(0x01020304);
              }
            });
    assertThat(calls).doesNotContainKey("cuMemsetD32Async");
  }

  @Test
  void theNewestSideIsFilledWithoutACommandWhereThatIsTheHosts() {
    assertThat(
            callsOf(
                memory -> {
                  try (UnifiedBuffer<int[]> buffer =
                      memory.allocate(ElementType.INT, 100, MemoryLocation.HOST)) {
                    buffer.fill(new int[] {5, 6});
                    int[] read = new int[100];
                    buffer.copyTo(read);
                    for (int i = 0; i < read.length; i++) {
                      assertThat(read[i]).isEqualTo(5 + i % 2);
                    }
                  }
                }))
        .isEmpty();
  }

  @Test
  void aPatternOfNothingIsAWrongArgument() {
    callsOf(
        memory -> {
          try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 100)) {
            assertThatIllegalArgumentException()
                .isThrownBy(() -> buffer.fill(new int[0]))
                .withMessageContaining("at least one element");
          }
        });
  }
}
