package dev.tidepool.methods.c;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.WorkItem;
import dev.tidepool.methods.bytecode.MethodReader;
import java.lang.invoke.MethodHandles;
import org.junit.jupiter.api.Test;

/** Java methods in Metal's language. */
class MetalCTest {
  private static final DeviceLimits METAL =
      new DeviceLimits(false, true, false, Long.MAX_VALUE, 32 << 10, "metal:0 (Apple M2)");

  static void histogram(WorkItem item, int[] values, int[] counts) {
    int[] shared = item.localInts(16);
    int local = (int) item.localId(0);
    if (local < 16) {
      shared[local] = 0;
    }
    item.barrier();
    item.atomicAdd(shared, values[(int) item.globalId(0)] & 15, 1);
    item.barrier();
    if (local < 16) {
      item.atomicAdd(counts, local, shared[local]);
    }
  }

  static void functions(WorkItem item, float a, long[] bits, float[] y) {
    int i = (int) item.globalId(0);
    y[i] = (float) Math.exp(y[i]) % a + Long.bitCount(bits[i]);
  }

  static void doubles(WorkItem item, double[] y) {
    y[(int) item.globalId(0)] = 1;
  }

  private static double half(double[] y, int i) {
    return y[i] / 2;
  }

  static void callsOneOfDoubles(WorkItem item, double[] y, int[] x) {
    int i = (int) item.globalId(0);
    x[i] = (int) half(y, i);
  }

  static void longAtomics(WorkItem item, long[] y) {
    item.atomicAdd(y, 0, item.globalId(0));
  }

  static void sharedByGroup(WorkItem item, float[] y) {
    float[] shared = item.localFloats(8193);
    shared[0] = 1;
    y[0] = shared[0];
  }

  static void fusedAsDoubles(WorkItem item, float a, float[] y) {
    int i = (int) item.globalId(0);
    y[i] = (float) Math.fma((double) a, (double) y[i], 1.0);
  }

  @SuppressWarnings("fallthrough")
  static void fallingThrough(int i, int[] x) {
    int s = 0;
    switch (x[i]) {
      case 0:
        s += 1;
      case 1:
        s += 2;
        break;
      case 2:
        s += 5;
      case 3:
        s += 10;
        break;
      case 4:
        s += 17;
      case 5:
        s += 26;
        break;
      case 6:
        s += 37;
      case 7:
        s += 50;
        break;
      case 8:
        s += 65;
      case 9:
        s += 82;
        break;
      case 10:
        s += 101;
      case 11:
        s += 122;
        break;
      case 12:
        s += 145;
      case 13:
        s += 170;
        break;
      case 14:
        s += 197;
      case 15:
        s += 226;
        break;
      default:
        s--;
    }
    x[i] = s;
  }

  /** Returns the line of the first load or store of a kernel. */
  private static int firstLine(String name) {
    KernelSource.Method method = KernelSource.method(MethodHandles.lookup(), name);
    return MethodReader.read(method).sites().getFirst().frame().getLineNumber();
  }

  private static String text(String name) {
    KernelSource.Method method = KernelSource.method(MethodHandles.lookup(), name);
    return MethodGenerator.generate(MethodReader.read(method), new MetalC(), METAL, true).source();
  }

  @Test
  void groupsAndAtomicsHaveTheirAddressSpaces() {
    assertThat(text("histogram"))
        .contains("  threadgroup int tp_shared0[16];\n")
        .contains("atomic_fetch_add_explicit((volatile threadgroup atomic_int*)(&tp_shared0[")
        .contains("atomic_fetch_add_explicit((volatile device atomic_int*)(&tp_array1[")
        .contains("threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);")
        .contains("tp_compare_and_set_device(tp_status, 0, tp_site)")
        .contains("device int* tp_base_fault [[buffer(2)]]")
        .doesNotContain("goto");
  }

  @Test
  void functionsComeBeforeWhatCallsThem() {
    String text = text("functions");
    assertThat(text).contains("tp_fmod(tp_exp(").contains("tp_bit_count(");
    assertThat(text.indexOf("float tp_fmod(")).isPositive().isLessThan(text.indexOf("kernel void"));
    assertThat(text.indexOf("int tp_bit_count(long"))
        .isPositive()
        .isLessThan(text.indexOf("kernel void"));
  }

  @Test
  void doublesAreRefusedByName() {
    assertThatExceptionOfType(KernelCompilationException.class)
        .isThrownBy(() -> text("doubles"))
        .withMessageContaining(
            "MetalCTest.doubles needs 64-bit floating point, which metal:0 (Apple M2) lacks"
                + " (first in line "
                + firstLine("doubles")
                + "); use another device");
    assertThatExceptionOfType(KernelCompilationException.class)
        .isThrownBy(() -> text("callsOneOfDoubles"))
        .withMessageContainingAll(
            "MetalCTest.callsOneOfDoubles needs 64-bit floating point",
            "lacks (first in "
                + MetalCTest.class.getName()
                + ".half, line "
                + firstLine("callsOneOfDoubles")
                + ")");
  }

  @Test
  void atomicOperationsOf64BitsAreRefusedByName() {
    assertThatExceptionOfType(KernelCompilationException.class)
        .isThrownBy(() -> text("longAtomics"))
        .withMessageContainingAll(
            "MetalCTest.longAtomics needs atomic operations of 64 bits",
            "lacks (first in line " + firstLine("longAtomics"));
  }

  @Test
  void moreMemoryThanAGroupMayShareIsRefusedByName() {
    assertThatExceptionOfType(KernelCompilationException.class)
        .isThrownBy(() -> text("sharedByGroup"))
        .withMessageContainingAll(
            "MetalCTest.sharedByGroup, line ",
            "local floats(8193) is too large for metal:0 (Apple M2)",
            "a group needs 32896 bytes of memory there, and may have 32768");
  }

  /** It would be rounded once, where Java rounds to double and then to float. */
  @Test
  void anFmaOfDoublesIsNotOneOfFloats() {
    assertThatExceptionOfType(KernelCompilationException.class)
        .isThrownBy(() -> text("fusedAsDoubles"))
        .withMessageContainingAll(
            "MetalCTest.fusedAsDoubles needs a fma of doubles", "Math.fma of floats");
  }

  @Test
  void aSwitchThatFallsThroughHasFewTestsOfJumps() {
    String text = text("fallingThrough");

    assertThat(text).containsOnlyOnce("int tp_leave = 0;");
    // Where a case falls through: one for jumps that arrive, and one for all others.
    assertThat(text.split("if \\(tp_leave", -1)).hasSizeBetween(8, 2 * 16);
  }
}
