package dev.tidepool.host;

import dev.tidepool.spi.support.Uninterruptibly;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The NUMA policy of the calling thread, for memory that only a driver can allocate. A driver's
 * call has no parameter for a node, but the kernel allocates pages by the policy of the calling
 * thread.
 */
public final class ThreadNumaPolicy {
  private static final System.Logger LOG = System.getLogger(ThreadNumaPolicy.class.getName());

  private ThreadNumaPolicy() {}

  /**
   * Runs an allocation with pages from a node while the node has room. Restores the thread's own
   * policy before this returns. If the system has no policies, forbids them, or has no such node,
   * the pages come from any node.
   *
   * <p>A virtual thread waits for a platform thread that runs the allocation, because the policy
   * belongs to the carrier thread.
   *
   * @param node its number, from 0
   */
  public static <T> T preferring(int node, Supplier<T> allocation) {
    if (!NumaCalls.available()) {
      return allocation.get();
    }
    return Thread.currentThread().isVirtual()
        ? onPlatformThread(() -> preferringHere(node, allocation))
        : preferringHere(node, allocation);
  }

  private static <T> T preferringHere(int node, Supplier<T> allocation) {
    try (NumaCalls.ThreadPolicy before = NumaCalls.ThreadPolicy.ofThisThread()) {
      if (!NumaCalls.setThreadPolicy(NumaPolicy.preferred(node))) {
        return allocation.get();
      }
      try {
        return allocation.get();
      } finally {
        if (!before.restore()) {
          LOG.log(
              System.Logger.Level.WARNING,
              "the NUMA policy of thread {0} could not be set back; its pages go on coming from"
                  + " node {1}",
              Thread.currentThread().getName(),
              node);
        }
      }
    }
  }

  private static <T> T onPlatformThread(Supplier<T> action) {
    FutureTask<T> task = new FutureTask<>(action::get);
    Thread.ofPlatform().daemon().name("tidepool-numa").start(task);
    try {
      return Uninterruptibly.get(task::get);
    } catch (ExecutionException e) {
      throw failure(e.getCause());
    }
  }

  private static RuntimeException failure(@Nullable Throwable cause) {
    if (cause instanceof Error error) {
      throw error;
    }
    return cause instanceof RuntimeException failure ? failure : new IllegalStateException(cause);
  }

  /** Returns the policy of the calling thread. */
  public static NumaPolicy policy() {
    return NumaCalls.available() ? NumaCalls.threadPolicy() : NumaPolicy.LOCAL;
  }
}
