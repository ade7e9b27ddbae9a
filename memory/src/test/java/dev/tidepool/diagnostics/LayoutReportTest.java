package dev.tidepool.diagnostics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.tidepool.ElementType;
import dev.tidepool.diagnostics.LayoutReport.Component;
import java.lang.invoke.MethodHandles;
import org.junit.jupiter.api.Test;

class LayoutReportTest {
  /** The tutorial's bad layout: three bytes of padding, which no order saves. */
  record BadLayout(float value, byte flag, double result) {}

  /** The tutorial's good one: the padding is named, and the size is the same. */
  record GoodLayout(float value, float padding, double result) {}

  record Scattered(boolean alive, double mass, byte kind, int charge, short age) {}

  record Place(byte cell, float x) {}

  record Placed(short id, Place place, long time) {}

  record Text(String text) {}

  @Test
  void everyComponentAndEveryByteOfPaddingHasItsPlace() {
    LayoutReport report = LayoutReport.of(BadLayout.class);
    assertThat(report.components())
        .containsExactly(
            new Component("value", ElementType.FLOAT, 0, 4, 4, 0),
            new Component("flag", ElementType.BYTE, 4, 1, 1, 3),
            new Component("result", ElementType.DOUBLE, 8, 8, 8, 0));
    assertThat(report)
        .returns(16L, LayoutReport::byteSize)
        .returns(8L, LayoutReport::alignment)
        .returns(3L, LayoutReport::paddingBytes)
        .returns(3_000_000L, LayoutReport::paddingPerMillion)
        .returns(0L, LayoutReport::savedBytes);
    assertThat(report.suggestedOrder()).containsExactly("value", "flag", "result");
  }

  @Test
  void paddingThatIsNamedIsNone() {
    LayoutReport report = LayoutReport.of(GoodLayout.class);
    assertThat(report.byteSize()).isEqualTo(16);
    assertThat(report.paddingBytes()).isZero();
    assertThat(report.toString())
        .startsWith("GoodLayout: 16 bytes, aligned to 8, 0 of them padding (0%)")
        .endsWith("no order of these components is smaller");
  }

  record ByHand(double mass, int charge, short age, boolean alive, byte kind) {}

  @Test
  void theSuggestedOrderIsAsSmallAsItSays() {
    LayoutReport report = LayoutReport.of(Scattered.class);
    assertThat(report.byteSize()).isEqualTo(32);
    assertThat(report.paddingBytes()).isEqualTo(16);
    assertThat(report.suggestedOrder()).containsExactly("mass", "charge", "age", "alive", "kind");
    assertThat(report.suggestedByteSize()).isEqualTo(LayoutReport.of(ByHand.class).byteSize());
    assertThat(report.savedBytes()).isEqualTo(16);
  }

  @Test
  void componentsOfNestedRecordsAreListedByTheirWholeNamesAndMovedAsOne() {
    LayoutReport report = LayoutReport.of(ElementType.struct(Placed.class, MethodHandles.lookup()));
    assertThat(report.type()).isEqualTo("Placed");
    assertThat(report.components())
        .containsExactly(
            new Component("id", ElementType.SHORT, 0, 2, 2, 2),
            new Component("place.cell", ElementType.BYTE, 4, 1, 1, 3),
            new Component("place.x", ElementType.FLOAT, 8, 4, 4, 4),
            new Component("time", ElementType.LONG, 16, 8, 8, 0));
    assertThat(report.suggestedOrder()).containsExactly("id", "place", "time");
    assertThat(report.suggestedByteSize()).isEqualTo(24);
  }

  @Test
  void theTableIsForPeople() {
    assertThat(LayoutReport.of(Scattered.class).toString().lines())
        .containsExactly(
            "Scattered: 32 bytes, aligned to 8, 16 of them padding (50%)",
            "  offset  size  align  name",
            "       0     1      1  alive",
            "       1     7         (padding)",
            "       8     8      8  mass",
            "      16     1      1  kind",
            "      17     3         (padding)",
            "      20     4      4  charge",
            "      24     2      2  age",
            "      26     6         (padding)",
            "a million of them hold 16,000,000 bytes of padding",
            "in the order mass, charge, age, alive, kind: 16 bytes, 16 less");
  }

  @Test
  void whatIsNoStructHasNoReport() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LayoutReport.of(ElementType.FLOAT))
        .withMessageContaining("FLOAT elements are no records");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LayoutReport.of(Text.class))
        .withMessageContaining("component text");
  }
}
