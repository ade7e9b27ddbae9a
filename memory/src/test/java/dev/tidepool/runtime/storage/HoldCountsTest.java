package dev.tidepool.runtime.storage;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.MapMode;
import dev.tidepool.runtime.order.ResourceAccess.Purpose;
import dev.tidepool.runtime.storage.HoldCounts.Hold;
import org.junit.jupiter.api.Test;

/** What is held, and what that forbids, without a storage. */
class HoldCountsTest {
  private final HoldCounts holds = new HoldCounts(new Object());

  private boolean allows(Purpose purpose, boolean writes) {
    return holds.conflict(purpose, writes, false) == null;
  }

  @Test
  void nothingHeldForbidsNothing() {
    for (Purpose purpose : Purpose.values()) {
      assertThat(holds.conflict(purpose, true, true)).isNull();
    }
    assertThat(holds.keepMemory() || holds.keepHost() || holds.keepDevice()).isFalse();
  }

  @Test
  void aReadingMappingForbidsTheDeviceToWrite() {
    holds.mappingAsked(MapMode.READ);

    assertThat(allows(Purpose.DEVICE, false)).isTrue();
    assertThat(allows(Purpose.ACCESS, true)).isTrue();
    assertThat(holds.conflict(Purpose.DEVICE, true, false))
        .isEqualTo(
            " is mapped by the host for reading; close the mapping before the device writes it");
  }

  @Test
  void aWritingMappingForbidsTheDeviceEverything() {
    holds.mappingAsked(MapMode.READ_WRITE);

    assertThat(allows(Purpose.ACCESS, true)).isTrue();
    assertThat(holds.conflict(Purpose.LEND, false, false))
        .isEqualTo(
            " is mapped by the host for writing; close the mapping before native code reads it");
    holds.mappingEnded(MapMode.READ_WRITE, false);
    assertThat(allows(Purpose.DEVICE, true)).isTrue();
  }

  @Test
  void bytesLentForReadingCanBeReadUnlessReadsAreAlone() {
    holds.lent(false);

    assertThat(allows(Purpose.ACCESS, false)).isTrue();
    assertThat(holds.conflict(Purpose.ACCESS, false, true)).contains("takes turns with others");
    assertThat(holds.conflict(Purpose.ACCESS, true, false))
        .contains("native code that reads it")
        .endsWith("meanwhile it can be read, by asReadOnlySegment() or copyTo");
    holds.lendingEnded(false);
    assertThat(allows(Purpose.ACCESS, true)).isTrue();
  }

  @Test
  void bytesLentForWritingCanNotBeRead() {
    holds.lent(true);

    assertThat(holds.conflict(Purpose.ACCESS, false, false)).contains("native code that writes it");
    holds.lendingEnded(true);
    assertThat(holds.isLent()).isFalse();
  }

  @Test
  void aMappingKeepsTheMemoryAndTheHostsBytesAndIsOpenOnlyOnceItHasBegun() {
    holds.mappingAsked(MapMode.READ);
    assertThat(holds.isMapped()).isFalse();
    assertThat(holds.keepMemory() && holds.keepHost()).isTrue();

    holds.mappingOpened();
    assertThat(holds.isMapped()).isTrue();

    holds.mappingEnded(MapMode.READ, true);
    assertThat(holds.isMapped() || holds.keepMemory() || holds.keepHost()).isFalse();
  }

  @Test
  void aHoldKeepsTheMemoryAndOneOnTheDeviceItsCopyToo() {
    holds.hold(Hold.HOST);
    assertThat(holds.keepMemory()).isTrue();
    assertThat(holds.keepDevice() || holds.keepHost() || holds.isHostWritten()).isFalse();

    holds.hold(Hold.DEVICE);
    holds.unhold(Hold.HOST);
    assertThat(holds.keepMemory() && holds.keepDevice()).isTrue();

    holds.unhold(Hold.DEVICE);
    assertThat(holds.keepMemory() || holds.keepDevice()).isFalse();
  }

  @Test
  void theHostWritesUnderAMappingForWritingAndUnderAHoldForWriting() {
    holds.mappingAsked(MapMode.READ);
    assertThat(holds.isHostWritten()).isFalse();
    holds.mappingAsked(MapMode.WRITE);
    holds.hold(Hold.HOST_WRITTEN);
    holds.mappingEnded(MapMode.WRITE, false);
    assertThat(holds.isHostWritten() && holds.keepMemory()).isTrue();

    holds.unhold(Hold.HOST_WRITTEN);
    assertThat(holds.isHostWritten()).isFalse();
  }

  @Test
  void anAddressThatWasHandedOutKeepsTheHostsBytesButNotTheMemory() {
    holds.expose();

    assertThat(holds.keepHost()).isTrue();
    assertThat(holds.keepMemory()).isFalse();
  }

  @Test
  void mappingsOfAnUnreachableBufferAreForgotten() {
    holds.mappingAsked(MapMode.WRITE);
    holds.mappingOpened();
    holds.forgetMappings();

    assertThat(holds.isMappingAsked() || holds.isMapped()).isFalse();
    assertThat(allows(Purpose.DEVICE, true)).isTrue();
  }
}
