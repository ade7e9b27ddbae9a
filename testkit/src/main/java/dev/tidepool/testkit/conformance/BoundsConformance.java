package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Accesses out of bounds are rejected, and change nothing. */
public abstract class BoundsConformance extends Topic {
  private static final int LENGTH = 100;

  private static Map<String, Consumer<UnifiedBuffer<float[]>>> outside() {
    Map<String, Consumer<UnifiedBuffer<float[]>>> uses = new LinkedHashMap<>();
    uses.put("a longer array", b -> b.copyFrom(new float[101]));
    uses.put("a shorter target", b -> b.copyTo(new float[99]));
    uses.put("an offset beyond the end", b -> b.copyFrom(new float[5], 0, 96, 5));
    uses.put("a negative offset", b -> b.copyFrom(new float[5], 0, -1, 5));
    uses.put("a huge offset", b -> b.copyFrom(new float[5], 0, Long.MAX_VALUE, 5));
    uses.put("an offset that overflows", b -> b.copyTo(Long.MAX_VALUE / 4 + 1, new float[5], 0, 5));
    uses.put("a negative count", b -> b.copyFrom(new float[5], 0, 0, -1));
    uses.put("beyond the array", b -> b.copyFrom(new float[5], 3, 0, 3));
    uses.put("before the array", b -> b.copyFrom(new float[5], -1, 0, 3));
    uses.put("reading beyond the end", b -> b.copyTo(98, new float[5], 0, 3));
    uses.put("reading beyond the array", b -> b.copyTo(0, new float[5], 4, 2));
    uses.put("a longer array later", b -> b.copyFromAsync(new float[101]).join());
    uses.put("a shorter target later", b -> b.copyToAsync(new float[99]).join());
    uses.put("a range later", b -> b.copyFromAsync(new float[5], 3, 0, 3).join());
    uses.put("a range back later", b -> b.copyToAsync(98, new float[5], 0, 3).join());
    uses.put("a longer segment", b -> b.copyFrom(floats(101), 0));
    uses.put("a segment beyond the end", b -> b.copyFrom(floats(5), 96));
    uses.put("a segment at a negative offset", b -> b.copyTo(-1, floats(5)));
    uses.put("a target segment beyond the end", b -> b.copyTo(96, floats(5)));
    uses.put("a segment beyond the end later", b -> b.copyFromAsync(floats(5), 96).join());
    uses.put("a target segment later", b -> b.copyToAsync(96, floats(5)).join());
    uses.put("a slice beyond the end", b -> b.slice(96, 5));
    uses.put("a slice before the start", b -> b.slice(-1, 5));
    uses.put("a slice of negative length", b -> b.slice(1, -1));
    return uses;
  }

  private static MemorySegment floats(int count) {
    return MemorySegment.ofArray(new float[count]);
  }

  @TestFactory
  Stream<DynamicTest> whatIsOutOfBoundsIsRefusedAndNothingIsTouched() {
    return outside().entrySet().stream()
        .flatMap(
            use ->
                bench().locations().stream()
                    .map(
                        location ->
                            DynamicTest.dynamicTest(
                                use.getKey() + " in " + location,
                                () -> {
                                  UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
                                  assertThatThrownBy(() -> use.getValue().accept(buffer))
                                      .isInstanceOf(IndexOutOfBoundsException.class);
                                  Patterns.assertEqual(
                                      contents(buffer), pattern(LENGTH, 1), "untouched");
                                })));
  }

  @Test
  void aSliceHasTheBoundsOfItself() {
    UnifiedBuffer<float[]> root = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> slice = bench().owned(root.slice(10, 20));
    assertThatThrownBy(() -> slice.copyFrom(new float[21]))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> slice.copyTo(19, new float[2], 0, 2))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> slice.slice(0, 21)).isInstanceOf(IndexOutOfBoundsException.class);
    Patterns.assertEqual(contents(root), pattern(LENGTH, 1), "untouched");
  }

  @Test
  void aViewOfPartialElementsIsAWrongArgument() {
    UnifiedBuffer<byte[]> bytes = bench().patterned(ElementType.BYTE, 13, MemoryLocation.DEVICE, 1);
    assertThatThrownBy(() -> bytes.as(ElementType.FLOAT))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("13");
  }

  @Test
  void anUnknownAcceleratorIsNamedWithThoseThatAreThere() {
    assertThatThrownBy(() -> bench().tidepool().accelerator("abacus:7"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("abacus:7")
        .hasMessageContaining(bench().accelerator().id());
  }

  @Test
  void anArrayOfNoElementTypeIsAWrongArgument() {
    assertThatThrownBy(() -> memory().copyOf(new char[3]))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> memory().copyOf("pool")).isInstanceOf(IllegalArgumentException.class);
  }
}
