package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.host.system.LibC;
import dev.tidepool.spi.support.Uninterruptibly;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * Keeps memory of a caller alive. Until this is closed, closing the memory's arena throws an {@link
 * IllegalStateException}. Java keeps an arena open only during a native call that takes the memory.
 * So a thread calls the C library's {@code bsearch}, whose comparison calls back into Java and
 * waits there. The function itself accesses nothing.
 *
 * <p>Costs a platform thread, so it is meant for few and long-lived memories. Thread-safe.
 */
public final class ArenaKeepAlive implements AutoCloseable {
  private static final int STACK_BYTES = 128 << 10;

  private static final class Calls {
    static final MethodHandle BSEARCH =
        LibC.link(
            "bsearch",
            FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS));
    static final FunctionDescriptor COMPARISON = FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS);
  }

  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch over = new CountDownLatch(1);
  private final CountDownLatch released = new CountDownLatch(1);
  private volatile boolean held;
  private volatile @Nullable Throwable failure;

  private ArenaKeepAlive() {}

  /**
   * Keeps the arena of a segment open. All threads must have access to the segment.
   *
   * @throws IllegalStateException if the arena has been closed
   * @throws UnsupportedOperationException if Java may not, or cannot, call native functions here
   */
  public static ArenaKeepAlive of(MemorySegment memory) {
    ArenaKeepAlive keepAlive = new ArenaKeepAlive();
    Thread.ofPlatform()
        .daemon()
        .name("tidepool-arena-keep-alive")
        .stackSize(STACK_BYTES)
        .start(() -> keepAlive.hold(memory));
    Uninterruptibly.await(keepAlive.begun::await);
    if (!keepAlive.held) {
      Throwable failure = keepAlive.failure;
      if (failure != null) {
        throw new UnsupportedOperationException("nothing holds an arena open here", failure);
      }
      throw new IllegalStateException("the memory's arena is closed; keep it open, or allocate");
    }
    return keepAlive;
  }

  private void hold(MemorySegment memory) {
    try (Arena arena = Arena.ofConfined()) {
      MethodHandle comparison =
          MethodHandles.lookup()
              .bind(
                  this,
                  "compare",
                  MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class));
      MemorySegment stub = Linker.nativeLinker().upcallStub(comparison, Calls.COMPARISON, arena);
      var _ = (MemorySegment) Calls.BSEARCH.invokeExact(memory, memory, 1L, 1L, stub);
    } catch (IllegalStateException closedAlready) {
      // The waiting thread reports this.
    } catch (Throwable unexpected) {
      failure = unexpected;
    } finally {
      begun.countDown();
      released.countDown();
    }
  }

  /** Compares two elements for {@code bsearch}. The memory is held during this call. */
  int compare(MemorySegment key, MemorySegment element) {
    held = true;
    begun.countDown();
    Uninterruptibly.await(over::await);
    return key.address() == element.address() ? 0 : 1;
  }

  /** Releases the memory. Its arena may be closed afterwards. Idempotent; never throws. */
  @Override
  public void close() {
    over.countDown();
    Uninterruptibly.await(released::await);
  }
}
