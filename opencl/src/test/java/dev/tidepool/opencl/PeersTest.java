package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Accelerator;
import dev.tidepool.ElementType;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.PeerAccess;
import dev.tidepool.transfer.PeerAccess.State;
import dev.tidepool.transfer.PeerAccess.Way;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Two devices of one platform as peers: run with {@code POCL_DEVICES="basic basic"}. */
@ExtendWith(NothingLeaks.class)
@Timeout(120)
class PeersTest {
  private static final int LENGTH = 100_003;

  private static Tidepool two(MemoryMode mode) {
    Tidepool tidepool = OpenClConformance.open(mode);
    if (tidepool.accelerators().size() < 3) {
      tidepool.close();
      assumeTrue(false, "ONE OPENCL DEVICE: set POCL_DEVICES=\"basic basic\" for two");
    }
    return tidepool;
  }

  private static int[] pattern() {
    int[] pattern = new int[LENGTH];
    Arrays.setAll(pattern, i -> i * 0x9e3779b9);
    return pattern;
  }

  private static int[] contents(UnifiedBuffer<int[]> buffer) {
    int[] array = new int[(int) buffer.length()];
    buffer.copyTo(array);
    return array;
  }

  @ParameterizedTest
  @EnumSource(names = {"DISCRETE", "DISCRETE_COARSE", "DISCRETE_WITHOUT_POINTERS"})
  void devicesOfOnePlatformCopyStraightUntilThatIsDisabled(MemoryMode mode) {
    try (Tidepool tidepool = two(mode)) {
      Accelerator one = tidepool.accelerator("opencl:0");
      Accelerator two = tidepool.accelerator("opencl:1");
      PeerAccess peers = tidepool.peers();
      try (UnifiedBuffer<int[]> source = tidepool.memory(one).copyOf(pattern());
          UnifiedBuffer<int[]> target = tidepool.memory(two).allocate(ElementType.INT, LENGTH)) {
        target.copyFrom(source);
        assertThat(contents(target)).isEqualTo(pattern());
        assertThat(peers.way(one, two))
            .returns(State.ENABLED, Way::state)
            .returns(4L * LENGTH, Way::bytes);
        peers.disable(one, two);
        target.fill((byte) 0);
        target.copyFrom(source);
        assertThat(contents(target)).isEqualTo(pattern());
        assertThat(peers.way(one, two))
            .returns(State.DISABLED, Way::state)
            .returns(4L * LENGTH, Way::bytes)
            .returns(4L * LENGTH, Way::stagedBytes);
      }
      Accelerator cpu = tidepool.accelerator("cpu:0");
      assertThatThrownBy(() -> peers.enable(one, cpu))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("cpu:0")
          .hasMessageContaining("opencl:0");
    }
  }

  @ParameterizedTest
  @EnumSource
  void aBufferIsSpreadOverBothAndTheProcessorAndCollectedAgain(MemoryMode mode) {
    try (Tidepool tidepool = two(mode)) {
      List<UnifiedMemoryManager> all =
          List.of("opencl:0", "opencl:1", "cpu:0").stream()
              .map(id -> tidepool.memory(tidepool.accelerator(id)))
              .toList();
      long[] lengths = PeerAccess.split(LENGTH, 5, 3, 1);
      try (UnifiedBuffer<int[]> whole = all.get(0).copyOf(pattern());
          UnifiedBuffer<int[]> a = all.get(0).allocate(ElementType.INT, lengths[0]);
          UnifiedBuffer<int[]> b = all.get(1).allocate(ElementType.INT, lengths[1]);
          UnifiedBuffer<int[]> c = all.get(2).allocate(ElementType.INT, lengths[2]);
          UnifiedBuffer<int[]> copy = all.get(1).allocate(ElementType.INT, LENGTH);
          UnifiedBuffer<int[]> other = all.get(1).allocate(ElementType.INT, LENGTH);
          UnifiedBuffer<int[]> third = all.get(2).allocate(ElementType.INT, LENGTH)) {
        tidepool.peers().scatter(whole, List.of(a, b, c));
        int first = (int) lengths[0];
        assertThat(contents(b))
            .isEqualTo(Arrays.copyOfRange(pattern(), first, first + (int) lengths[1]));
        whole.fill((byte) 0);
        tidepool.peers().gather(List.of(a, b, c), whole);
        assertThat(contents(whole)).isEqualTo(pattern());
        tidepool.peers().broadcast(whole, List.of(copy, other, third));
        assertThat(contents(copy)).isEqualTo(pattern());
        assertThat(contents(other)).isEqualTo(pattern());
        assertThat(contents(third)).isEqualTo(pattern());
      }
    }
  }
}
