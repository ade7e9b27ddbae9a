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
 * Keeps memory of a caller from ending: until this is closed, the arena that it is of cannot be
 * closed, which is an {@link IllegalStateException} there. Java holds an arena open for no longer
 * than a native call that takes the memory; so a thread makes one, of the C library's {@code
 * bsearch}, whose comparison comes back to Java and waits. The function itself touches nothing.
 *
 * <p>Costs a platform thread: for few and long-lived memories. Thread-safe.
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
   * Holds what a segment is of, which must be accessible to all threads.
   *
   * @throws IllegalStateException if its arena has been closed
   * @throws UnsupportedOperationException if Java may not call native functions here, or cannot
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
      // The waiting thread reports it.
    } catch (Throwable unexpected) {
      failure = unexpected;
    } finally {
      begun.countDown();
      released.countDown();
    }
  }

  /** Compares, called by {@code bsearch}: meanwhile the memory is held. */
  int compare(MemorySegment key, MemorySegment element) {
    held = true;
    begun.countDown();
    Uninterruptibly.await(over::await);
    return key.address() == element.address() ? 0 : 1;
  }

  /** Lets go; after it the arena may be closed. Idempotent, and throws nothing. */
  @Override
  public void close() {
    over.countDown();
    Uninterruptibly.await(released::await);
  }
}
