package dev.tidepool.spi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Allocation;
import dev.tidepool.MemoryLocation;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PlacementTest {
  @ParameterizedTest
  @EnumSource
  void withoutAWishAnyMemoryWillDo(MemoryLocation location) {
    assertThat(Placement.of(Allocation.at(location).tag("a").zeroed()))
        .isSameAs(Placement.ANYWHERE);
  }

  @Test
  void hintsCountWhereALocationHasAUseForThem() {
    assertThat(Placement.of(Allocation.at(MemoryLocation.UNIFIED).mostlyRead().mostlyDevice()))
        .isEqualTo(new Placement(OptionalInt.empty(), false, true, true));
    assertThat(Placement.of(Allocation.at(MemoryLocation.PINNED).mostlyRead().mostlyDevice()))
        .isEqualTo(new Placement(OptionalInt.empty(), false, false, true));
  }

  @Test
  void whoUsesTheBytesCountsForManagedMemoryAlone() {
    assertThat(Placement.of(Allocation.at(MemoryLocation.UNIFIED).mostlyHost()))
        .isEqualTo(new Placement(OptionalInt.empty(), false, false, false, true, false));
    assertThat(Placement.of(Allocation.at(MemoryLocation.UNIFIED).mostlyShared()))
        .isEqualTo(new Placement(OptionalInt.empty(), false, false, false, false, true));
    assertThat(Placement.of(Allocation.at(MemoryLocation.PINNED).mostlyHost()))
        .isSameAs(Placement.ANYWHERE);
  }

  /** A buffer whose hints change nothing comes from a pool like any other. */
  @ParameterizedTest
  @EnumSource(names = {"DEVICE", "HOST"})
  void elsewhereTheyAreNoWish(MemoryLocation location) {
    assertThat(Placement.of(Allocation.at(location).mostlyRead().mostlyDevice()))
        .isSameAs(Placement.ANYWHERE);
  }
}
