package dev.tidepool.runtime.lending;

import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeUse;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.NativeQueue;
import java.util.List;
import java.util.stream.Collectors;

/** The users' access to lent buffers. Keeps the buffers' handles reachable. */
final class OpenNativeAccess implements NativeAccess {
  private final StorageContext context;
  private final Lending lending;
  private final List<NativeUse> uses;
  private final NativeHandle[] handles;

  /**
   * Creates an access that is open.
   *
   * @param handles one for each use
   */
  OpenNativeAccess(
      StorageContext context, Lending lending, List<NativeUse> uses, NativeHandle[] handles) {
    this.context = context;
    this.lending = lending;
    this.uses = uses;
    this.handles = handles;
  }

  @Override
  public NativeHandle handle(UnifiedBuffer<?> buffer) {
    checkOpen();
    for (int i = 0; i < handles.length; i++) {
      if (uses.get(i).buffer().equals(buffer)) {
        return handles[i];
      }
    }
    throw new IllegalArgumentException(
        buffer + " was not lent here; name it when you call lend, the slice itself if it is one");
  }

  @Override
  public long queue() {
    checkOpen();
    NativeQueue queue = lending.queue();
    return queue == null ? 0 : queue.handle();
  }

  @Override
  public long context() {
    checkOpen();
    return context.device().contextHandle();
  }

  @Override
  public long device() {
    checkOpen();
    return context.device().deviceHandle();
  }

  private void checkOpen() {
    if (!lending.isOpen()) {
      throw new IllegalStateException("the native access is closed; lend the buffers again");
    }
  }

  @Override
  public void close() {
    StackReserve.check();
    lending.end();
    lending.awaitClosed();
  }

  @Override
  public String toString() {
    return uses.stream()
        .map(use -> use.buffer().toString())
        .collect(Collectors.joining(", ", "NativeAccess[", lending.isOpen() ? "]" : ", closed]"));
  }
}
