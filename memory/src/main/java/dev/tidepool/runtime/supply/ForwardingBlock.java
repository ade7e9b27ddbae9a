package dev.tidepool.runtime.supply;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A block that is another one, and does something more when it is freed. The device gets the
 * {@linkplain #whole() block} itself.
 */
interface ForwardingBlock extends Block {
  /** Returns the block that this one stands for. */
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
