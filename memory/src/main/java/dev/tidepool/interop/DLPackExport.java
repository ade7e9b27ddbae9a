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
 * A tensor that {@link DLPack} made for another library. Its holder must end it once: the consumer,
 * by the deleter in the structure, or this object's {@link #close()} if no consumer took it.
 *
 * <p>All exports share one deleter, which finds the export by the structure's address. It can be
 * called by any thread, also one that Java does not know. It frees the structure and no longer
 * holds the buffer; it does not wait. A second call of the deleter, soon after the first, is
 * reported in the log and does nothing else. An export that becomes unreachable before either is
 * reported in the log, and its memory stays. Thread-safe.
 */
public final class DLPackExport implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  /** Exports whose deleter was not called yet, by the address of the structure. */
  private static final Map<Long, Content> OPEN = new ConcurrentHashMap<>();

  /** The structures of all managers that ended last. Their memory is not reused yet. */
  private static final Queue<TensorStruct> ENDED = new ArrayBlockingQueue<>(1_000);

  /** What the deleter ends; does not keep the export reachable. */
  private static final class Content {
    private final TensorStruct struct;
    private final ExportedMemory memory;
    private final AtomicBoolean handedOver = new AtomicBoolean();
    private volatile boolean released;
    // Set before a consumer can know the export.
    private Cleaner.@Nullable Cleanable watch;

    Content(TensorStruct struct, ExportedMemory memory) {
      this.struct = struct;
      this.memory = memory;
    }
  }

  /** Set up by the first export: linking takes milliseconds. */
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

  /** Begins an export. If this throws, the structure is freed, and the memory is the caller's. */
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

  /** A consumer may have the address all the same, so nothing is freed. */
  private static void forgotten(Content content) {
    if (!content.handedOver.get() && !content.released) {
      ForgottenExports.report(
          "a DLPackExport was neither handed over nor closed; unless a consumer has its address and"
              + " calls the deleter, its memory stays until the process ends");
    }
  }

  /** Called by consumers. Nothing may be thrown: that would end the virtual machine. */
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
      // Not freed yet: a second call of the deleter must not end another tensor at its address.
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

  /** The exports whose deleter was not called yet, of all managers. */
  static int open() {
    return OPEN.size();
  }

  /**
   * Returns the address of the structure, to look at. It is valid until this is closed, or a
   * consumer that took it calls the deleter.
   */
  public long address() {
    return address;
  }

  /**
   * Gives the tensor to a consumer, which calls the deleter from now on; {@link #close()} does
   * nothing any more.
   *
   * @return the address of the structure, a {@code DLManagedTensorVersioned} or {@code
   *     DLManagedTensor}
   * @throws IllegalStateException if it was handed over before, or closed
   */
  public long handOver() {
    if (!content.handedOver.compareAndSet(false, true)) {
      throw new IllegalStateException(
          "the tensor was handed over or closed before; export the buffer again for another"
              + " consumer");
    }
    return address;
  }

  /**
   * Returns whether the deleter was called, or this was closed, and nothing of the tensor is left.
   */
  public boolean isReleased() {
    return content.released;
  }

  /** Ends a tensor that was not handed over. Idempotent; does not wait. */
  @Override
  public void close() {
    StackReserve.check();
    if (content.handedOver.compareAndSet(false, true) && OPEN.remove(address, content)) {
      end(content);
    }
  }
}
