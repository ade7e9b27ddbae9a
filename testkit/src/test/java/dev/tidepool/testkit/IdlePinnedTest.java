package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What lies idle of page-locked memory keeps no buffer from being page-locked. */
class IdlePinnedTest {
  private static final int BYTES = 1 << 20;

  @RegisterExtension
  private final SimulatedRig rig =
      new SimulatedRig(MemoryOptions.builder().pinnedLimit(BYTES).stagingChunk(BYTES / 4));

  @Test
  void hostCopiesThatAreIdleMakeRoomForAPinnedBuffer() {
    UnifiedMemoryManager memory = rig.memory();
    try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, BYTES)) {
      buffer.asSegment().fill((byte) 1);
    }
    assertThat(memory.statistics().pinnedBytes()).isEqualTo(BYTES);
    long before = memory.statistics().pinnedFallbacks();
    memory.allocate(ElementType.BYTE, BYTES, MemoryLocation.PINNED).close();
    assertThat(memory.statistics().pinnedFallbacks()).isEqualTo(before);
    assertThat(memory.statistics().pinnedBytes()).isEqualTo(BYTES);
  }
}
