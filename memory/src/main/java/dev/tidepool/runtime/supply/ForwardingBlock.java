package dev.tidepool.runtime.supply;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A block that wraps another one and adds an action to its release. The device gets the original
 * {@linkplain #whole() block}.
 */
interface ForwardingBlock extends Block {
  /** Returns the wrapped block. */
  Block block();

  @Override
  default long byteSize() {
    return block().byteSize();
  }

  @Override
  default HostAccess hostAccess() {
    return block().hostAccess();
  }

  @Override
  default @Nullable MemorySegment segment() {
    return block().segment();
  }

  @Override
  default Block whole() {
    return block().whole();
  }

  @Override
  default long start() {
    return block().start();
  }
}
