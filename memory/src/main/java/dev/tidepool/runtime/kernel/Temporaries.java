package dev.tidepool.runtime.kernel;

import dev.tidepool.AbstractUnifiedBuffer;
import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.buffer.BufferAllocator;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.buffer.ForeignBytes;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.storage.StorageContext;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The buffers that exist for one launch: for arrays, for buffers of other managers, and for
 * contents from before the launch. Like the launch, copies in and copies out are operations on
 * these buffers, so the queue of each buffer keeps them in order.
 */
final class Temporaries implements AutoCloseable {
  private static final Allocation ALLOCATION =
      Allocation.at(MemoryLocation.DEVICE).tag("kernel argument");

  private final StorageContext context;
  private final BufferAllocator allocator;
  private final List<BufferHandle<?>> buffers = new ArrayList<>();
  private final List<Copy> inbound = new ArrayList<>();
  private final List<Copy> outbound = new ArrayList<>();

  /** A copy between a temporary and the argument that it replaces, now or in the background. */
  private record Copy(Runnable perform, Supplier<CompletableFuture<Void>> submit) {}

  Temporaries(StorageContext context, BufferAllocator allocator) {
    this.context = context;
    this.allocator = allocator;
  }

  /** Returns an empty buffer of this manager. */
  <A> BufferHandle<A> allocate(ElementType<A> type, long length) {
    context.checkOpen();
    BufferHandle<A> temporary = (BufferHandle<A>) allocator.allocate(type, length, ALLOCATION);
    buffers.add(temporary);
    return temporary;
  }

  /** Returns a temporary for a buffer of another manager or another library. */
  <A> BufferHandle<A> standIn(UnifiedBuffer<A> elsewhere, boolean isRead, boolean isWritten) {
    BufferHandle<A> temporary = allocate(elsewhere.elementType(), elsewhere.length());
    if (isRead) {
      inbound.add(
          new Copy(() -> temporary.copyFrom(elsewhere), () -> temporary.copyFromAsync(elsewhere)));
    }
    if (isWritten) {
      outbound.add(
          new Copy(() -> elsewhere.copyFrom(temporary), () -> copyBack(temporary, elsewhere)));
    }
    return temporary;
  }

  /** Copies in the background, even if the buffer itself would copy on the calling thread. */
  private static <A> CompletableFuture<Void> copyBack(
      BufferHandle<A> temporary, UnifiedBuffer<A> elsewhere) {
    return elsewhere instanceof AbstractUnifiedBuffer<A>
        ? temporary.copyToAsync(ForeignBytes.of(elsewhere, true))
        : elsewhere.copyFromAsync(temporary);
  }

  /** Returns a temporary for an array. */
  <A> BufferHandle<A> standIn(
      ElementType<A> type, Object value, boolean isRead, boolean isWritten) {
    A array = type.arrayClass().cast(value);
    BufferHandle<A> temporary = allocate(type, type.length(array));
    if (isRead) {
      inbound.add(new Copy(() -> temporary.copyFrom(array), () -> temporary.copyFromAsync(array)));
    }
    if (isWritten) {
      outbound.add(new Copy(() -> temporary.copyTo(array), () -> temporary.copyToAsync(array)));
    }
    return temporary;
  }

  /** Returns a temporary with the contents of a buffer of this manager before the launch. */
  <A> BufferHandle<A> copyOf(BufferHandle<A> buffer) {
    return standIn(buffer, true, false);
  }

  /** Returns whether there is anything to copy. */
  boolean areCopied() {
    return !inbound.isEmpty() || !outbound.isEmpty();
  }

  void copyIn() {
    inbound.forEach(copy -> copy.perform().run());
  }

  void copyOut() {
    outbound.forEach(copy -> copy.perform().run());
  }

  /** Submits the copies, and adds their futures. */
  void copyIn(List<CompletableFuture<Void>> ends) {
    inbound.forEach(copy -> ends.add(copy.submit().get()));
  }

  /** Submits the copies, and adds their futures. */
  void copyOut(List<CompletableFuture<Void>> ends) {
    outbound.forEach(copy -> ends.add(copy.submit().get()));
  }

  /** Closes the buffers, which are freed when all submitted operations have ended. */
  @Override
  public void close() {
    @Nullable Throwable thrown = null;
    for (BufferHandle<?> temporary : buffers) {
      try {
        temporary.close();
      } catch (RuntimeException | Error e) {
        thrown = thrown == null ? e : thrown;
      }
    }
    if (thrown != null) {
      throw Exceptions.unchecked(thrown);
    }
  }
}
