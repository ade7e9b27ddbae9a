package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.testkit.conformance.Patterns;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An arena that is closed before a copy of its segment began fails that copy, and no more. */
@ExtendWith(QuietLog.class)
@Timeout(60)
class ClosedArenaTest {
  private static final int LENGTH = 100_000;

  @RegisterExtension private final SimulatedRig rig = new SimulatedRig(MemoryOptions.builder());

  private UnifiedBuffer<byte[]> buffer() {
    return rig.memory()
        .allocate(ElementType.BYTE, LENGTH, Allocation.at(MemoryLocation.DEVICE).tag("lagoon"));
  }

  @Test
  void failsTheCopyWithTheNameOfTheBuffer() {
    try (UnifiedBuffer<byte[]> in = buffer();
        UnifiedBuffer<byte[]> out = buffer()) {
      byte[] pattern = Patterns.array(ElementType.BYTE, LENGTH, 1);
      List<CompletableFuture<Void>> late = new ArrayList<>();
      rig.device().pause();
      try (Arena arena = Arena.ofShared()) {
        MemorySegment segment = arena.allocate(LENGTH);
        // Behind these, so that the copies of the segment have not begun.
        in.copyFromAsync(pattern);
        out.copyFromAsync(pattern);
        late.add(in.copyFromAsync(segment, 0));
        late.add(out.copyToAsync(0, segment));
      }
      rig.device().resume();
      for (CompletableFuture<Void> copy : late) {
        assertThatThrownBy(copy::join)
            .cause()
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("'lagoon'")
            .hasMessageContaining("arena")
            .hasMessageContaining("until the copy");
      }
      byte[] back = new byte[LENGTH];
      out.copyTo(back);
      assertThat(back).isEqualTo(pattern);
      in.copyTo(back);
      assertThat(back).isEqualTo(pattern);
    }
  }
}
