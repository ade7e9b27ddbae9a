package dev.tidepool.runtime.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.WorkItem;
import java.lang.invoke.MethodHandles;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which ranges a method can be launched over. */
@SuppressWarnings("unused")
class MethodSignatureTest {
  private static final long TOO_MANY = Integer.MAX_VALUE + 1L;

  private static void withInts(int i, int[] x) {
    x[i & 3] = i;
  }

  private static void withLongs(long i, long[] x) {
    x[(int) (i & 3)] = i;
  }

  private static void withIntsInTheSecond(WorkItem item, long[] x) {
    x[(int) item.globalId(1)] = item.globalId(0);
  }

  private static LaunchRange range(String method, long elements, @Nullable LaunchRange asked) {
    return MethodSignature.of(KernelSource.method(MethodHandles.lookup(), method))
        .range(List.of(KernelParameter.inout("x", ElementType.LONG)), new long[] {elements}, asked);
  }

  @Test
  void moreElementsThanAnArrayHasAreRefused() {
    LaunchRange one = LaunchRange.of(1);
    assertThat(range("withInts", Integer.MAX_VALUE, one)).isEqualTo(one);
    for (String method : List.of("withInts", "withLongs")) {
      assertThatThrownBy(() -> range(method, TOO_MANY, one))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContainingAll("'x' has 2147483648 elements", "pass slices");
    }
  }

  @Test
  void aKernelOfTwoDimensionsNeedsARange() {
    LaunchRange plane = LaunchRange.of(2, 3);
    assertThat(range("withIntsInTheSecond", 6, plane)).isEqualTo(plane);
    assertThat(range("withInts", 6, null)).isEqualTo(LaunchRange.of(6));
    assertThatThrownBy(() -> range("withIntsInTheSecond", 6, null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "kernel 'withIntsInTheSecond' uses the numbers of its items in 2 dimensions, and a"
                + " launch without a range has one; pass a LaunchRange");
  }

  @Test
  void moreItemsThanTheirIndexCountsAreRefused() {
    LaunchRange most = LaunchRange.of(Integer.MAX_VALUE);
    LaunchRange more = LaunchRange.of(TOO_MANY);
    assertThat(range("withInts", 4, most)).isEqualTo(most);
    assertThat(range("withLongs", 4, more)).isEqualTo(more);
    assertThatThrownBy(() -> range("withInts", 4, more))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("[2147483648]", "'withInts'", "compute with long");
  }

  @Test
  void onlyADimensionThatIsMadeAnIntIsBounded() {
    LaunchRange wide = LaunchRange.of(TOO_MANY, 4);
    assertThat(range("withIntsInTheSecond", 4, wide)).isEqualTo(wide);
    assertThatThrownBy(() -> range("withIntsInTheSecond", 4, LaunchRange.of(4, TOO_MANY)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("[4, 2147483648]", "compute with long");
  }
}
