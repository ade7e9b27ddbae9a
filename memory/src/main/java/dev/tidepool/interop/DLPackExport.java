package dev.tidepool.interop;

import dev.tidepool.runtime.threads.StackReserve;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.ref.Cleaner;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A tensor that {@link DLPack} exports to another library. It must be released once: the consumer
 * calls the deleter in the structure, or, if there is no consumer, the program calls {@link
 * #close()}.
 *
 * <p>All exports share one deleter, which finds the export by the structure's address. Any thread
 * can call the deleter, including threads unknown to Java. The deleter releases the structure and
 * the buffer's memory, and does not wait. A second call of the deleter, soon after the first, is
 * reported in the log and has no other effect. An export that becomes unreachable before it is
 * handed over or closed is reported in the log, and its memory is not freed. Thread-safe.
 */
public final class DLPackExport implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  /** Exports whose deleter was not called, by the address of the structure. */
  private static final Map<Long, Content> OPEN = new ConcurrentHashMap<>();

  /** The structures that were released last, of all managers. Their memory is not reused yet. */
  private static final Queue<TensorStruct> ENDED = new ArrayBlockingQueue<>(1_000);

  /** The state that the deleter releases. Does not keep the export reachable. */
  private static final class Content {
    private final TensorStruct struct;
    private final ExportedMemory memory;
    private final AtomicBoolean handedOver = new AtomicBoolean();
    private volatile boolean released;
    // Assigned before the export is published.
    private Cleaner.@Nullable Cleanable watch;

    Content(TensorStruct struct, ExportedMemory memory) {
      this.struct = struct;
      this.memory = memory;
    }
  }

  /** Initialized by the first export, because linking takes milliseconds. */
  private static final class Deleter {
    static final MemorySegment STUB =
        ReleaseFunction.of(MethodHandles.lookup(), DLPackExport.class, "delete");
  }

  private final Content content;
  private final long address;

  private DLPackExport(Content content) {
    this.content = content;
    this.address = content.struct.address();
  }

  /** Starts an export. If this throws, the structure is freed; the caller still owns the memory. */
  static DLPackExport begin(TensorStruct struct, ExportedMemory memory) {
    try {
      struct.deleter(Deleter.STUB);
      Content content = new Content(struct, memory);
      DLPackExport export = new DLPackExport(content);
      content.watch = ForgottenExports.watch(export, () -> forgotten(content));
      OPEN.put(export.address, content);
      return export;
    } catch (RuntimeException | Error e) {
      struct.free();
      throw e;
    }
  }

  /**
   * Reports an export that was not released. A consumer may have the address nevertheless, so
   * nothing is freed.
   */
  private static void forgotten(Content content) {
    if (!content.handedOver.get() && !content.released) {
      ForgottenExports.report(
          "a DLPackExport was neither handed over nor closed; unless a consumer has its address and"
              + " calls the deleter, its memory stays until the process ends");
    }
  }

  /**
   * Releases a tensor. Consumers call this. It throws nothing, which would crash the virtual
   * machine.
   */
  @SuppressWarnings("UnusedMethod") // the stub finds it by its name
  private static void delete(MemorySegment struct) {
    try {
      Content content = OPEN.remove(struct.address());
      if (content != null) {
        end(content);
      } else {
        LOG.log(
            System.Logger.Level.WARNING,
            "the deleter of a DLPack tensor at 0x"
                + Long.toHexString(struct.address())
                + " was called, but no such tensor is exported; it was called twice, or with"
                + " another address");
      }
    } catch (Throwable e) {
      ReleaseFunction.failed("a DLPack tensor", e);
    }
  }

  private static void end(Content content) {
    try {
      // Not freed yet: a second call of the deleter must not find another tensor at the same
      // address.
      while (!ENDED.offer(content.struct)) {
        TensorStruct oldest = ENDED.poll();
        if (oldest != null) {
          oldest.free();
        }
      }
    } finally {
      content.released = true;
      content.memory.end();
      Cleaner.Cleanable watch = content.watch;
      if (watch != null) {
        watch.clean();
      }
    }
  }

  /** Returns the number of exports, of all managers, whose deleter was not called. */
  static int open() {
    return OPEN.size();
  }

  /**
   * Returns the address of the structure, without handing it over. It is valid until this export is
   * closed, or the consumer calls the deleter.
   */
  public long address() {
    return address;
  }

  /**
   * Hands the tensor over to a consumer, which must call the deleter. After that {@link #close()}
   * does nothing.
   *
   * @return the address of the structure, a {@code DLManagedTensorVersioned} or {@code
   *     DLManagedTensor}
   * @throws IllegalStateException if the tensor was already handed over or closed
   */
  public long handOver() {
    if (!content.handedOver.compareAndSet(false, true)) {
      throw new IllegalStateException(
          "the tensor was handed over or closed before; export the buffer again for another"
              + " consumer");
    }
    return address;
  }

  /** Returns whether the tensor was released, by the deleter or by {@link #close()}. */
  public boolean isReleased() {
    return content.released;
  }

  /** Releases a tensor that was not handed over. Idempotent; does not wait. */
  @Override
  public void close() {
    StackReserve.check();
    if (content.handedOver.compareAndSet(false, true) && OPEN.remove(address, content)) {
      end(content);
    }
  }

  @Override
  public String toString() {
    String state =
        content.released
            ? "released"
            : content.handedOver.get() ? "handed over" : "not handed over";
    return "DLPackExport[0x" + Long.toHexString(address) + ", " + state + "]";
  }
}
