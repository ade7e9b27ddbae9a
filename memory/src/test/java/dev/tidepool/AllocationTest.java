package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

class AllocationTest {
  private static final Allocation DEFAULTS = Allocation.at(MemoryLocation.HOST);

  private static final List<UnaryOperator<Allocation>> OPTIONS =
      List.of(
          Allocation::unpooled,
          Allocation::zeroed,
          allocation -> allocation.aligned(4096),
          allocation -> allocation.onNode(3),
          Allocation::hugePages,
          Allocation::mostlyRead,
          Allocation::mostlyDevice,
          allocation -> allocation.tag("tide"));

  @Test
  void everyOptionChangesItsOwnPartOfACopyAndNothingElse() {
    assertThat(DEFAULTS.unpooled().isPooled()).isFalse();
    assertThat(DEFAULTS.zeroed().isZeroed()).isTrue();
    assertThat(DEFAULTS.aligned(4096).alignment()).isEqualTo(4096);
    assertThat(DEFAULTS.onNode(3).node()).isEqualTo(OptionalInt.of(3));
    assertThat(DEFAULTS.hugePages().wantsHugePages()).isTrue();
    assertThat(DEFAULTS.mostlyRead().isMostlyRead()).isTrue();
    assertThat(DEFAULTS.mostlyDevice().isMostlyDevice()).isTrue();
    assertThat(DEFAULTS.tag("tide").tag()).isEqualTo("tide");
    for (UnaryOperator<Allocation> option : OPTIONS) {
      Allocation one = option.apply(DEFAULTS);
      assertThat(one).isNotEqualTo(DEFAULTS);
      assertThat(option.apply(one)).isEqualTo(one).hasSameHashCodeAs(one);
      assertThat(one.toString()).isNotEqualTo(DEFAULTS.toString());
    }
    assertThat(DEFAULTS).isEqualTo(Allocation.at(MemoryLocation.HOST));
    assertThat(DEFAULTS.node()).isEmpty();
    assertThat(DEFAULTS.wantsHugePages()).isFalse();
  }

  @Test
  void ofTheHintsWhoUsesTheBytesTheLastOneCounts() {
    Allocation host = DEFAULTS.mostlyDevice().mostlyHost();
    assertThat(host.isMostlyHost()).isTrue();
    assertThat(host.isMostlyDevice()).isFalse();
    assertThat(host.isPlain()).isFalse();
    assertThat(host).hasToString("Allocation[HOST, mostly host]");
    Allocation shared = host.mostlyShared();
    assertThat(shared.isMostlyShared()).isTrue();
    assertThat(shared.isMostlyHost()).isFalse();
    assertThat(shared).isNotEqualTo(host);
    assertThat(shared.mostlyDevice()).isEqualTo(DEFAULTS.mostlyDevice());
  }

  @Test
  void theOrderOfOptionsDoesNotMatter() {
    Allocation expected = all(OPTIONS);
    assertThat(expected.toString())
        .isEqualTo(
            "Allocation[HOST, unpooled, zeroed, aligned to 4096, on node 3, huge pages,"
                + " mostly read, mostly device, tag tide]");
    List<UnaryOperator<Allocation>> order = new ArrayList<>(OPTIONS);
    for (int i = 0; i < OPTIONS.size(); i++) {
      Collections.rotate(order, 1);
      assertThat(all(order)).isEqualTo(expected);
      assertThat(all(order.reversed())).isEqualTo(expected);
    }
  }

  private static Allocation all(List<UnaryOperator<Allocation>> options) {
    Allocation allocation = DEFAULTS;
    for (UnaryOperator<Allocation> option : options) {
      allocation = option.apply(allocation);
    }
    return allocation;
  }

  @Test
  void aNegativeNodeIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DEFAULTS.onNode(-1))
        .withMessageContaining("-1");
  }
}
