package dev.tidepool.runtime.supply;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class GuardedSourceTest {
  private final AtomicInteger live = new AtomicInteger();

  /** A block for which no zones can be made. */
  private final class Unguardable implements Block {
    @Override
    public long byteSize() {
      return 1 << 20;
    }

    @Override
    public HostAccess hostAccess() {
      return HostAccess.DIRECT;
    }

    @Override
    public @Nullable MemorySegment segment() {
      throw new OutOfMemoryError("on purpose");
    }

    @Override
    public void free() {
      live.decrementAndGet();
    }
  }

  @Test
  void aBlockThatCannotBeGuardedGoesBack() {
    GuardedSource source =
        new GuardedSource(
            (bytes, alignment) -> {
              live.incrementAndGet();
              return new Unguardable();
            },
            Long.MAX_VALUE);
    assertThatThrownBy(() -> source.allocate(1000, 64)).isInstanceOf(OutOfMemoryError.class);
    assertThat(live).hasValue(0);
  }
}
