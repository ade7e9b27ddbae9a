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
 * The buffers that live for one launch: for arrays, for buffers of other managers, and for what the
 * launch must see as it was. Copies in and copies out are pieces of work on these buffers, as the
 * launch is, so the order of each buffer keeps them apart.
 */
final class Temporaries implements AutoCloseable {
  private static final Allocation ALLOCATION =
      Allocation.at(MemoryLocation.DEVICE).tag("kernel argument");

  private final StorageContext context;
  private final BufferAllocator allocator;
  private final List<BufferHandle<?>> buffers = new ArrayList<>();
  private final List<Copy> inbound = new ArrayList<>();
  private final List<Copy> outbound = new ArrayList<>();

  /** A copy between a temporary and what it stands for, now or in the background. */
  private record Copy(Runnable perform, Supplier<CompletableFuture<Void>> submit) {}

  Temporaries(StorageContext context, BufferAllocator allocator) {
    this.context = context;
    this.allocator = allocator;
  }

  /** Returns a buffer of this manager with nothing in it. */
  <A> BufferHandle<A> allocate(ElementType<A> type, long length) {
    context.checkOpen();
    BufferHandle<A> temporary = (BufferHandle<A>) allocator.allocate(type, length, ALLOCATION);
    buffers.add(temporary);
    return temporary;
  }

  /** Stands for a buffer of another manager, or of a library's own kind. */
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

  /** Copies in the background, where the buffer itself would copy on this thread. */
  private static <A> CompletableFuture<Void> copyBack(
      BufferHandle<A> temporary, UnifiedBuffer<A> elsewhere) {
    return elsewhere instanceof AbstractUnifiedBuffer<A>
        ? temporary.copyToAsync(ForeignBytes.of(elsewhere, true))
        : elsewhere.copyFromAsync(temporary);
  }

  /** Stands for an array. */
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

  /** Has what a buffer of this manager had before the launch. */
  <A> BufferHandle<A> copyOf(BufferHandle<A> buffer) {
    return standIn(buffer, true, false);
  }

  /** Returns whether there is a copy to make. */
  boolean areCopied() {
    return !inbound.isEmpty() || !outbound.isEmpty();
  }

  void copyIn() {
    inbound.forEach(copy -> copy.perform().run());
  }

  void copyOut() {
    outbound.forEach(copy -> copy.perform().run());
  }

  /** Asks for the copies in the background, and adds their ends. */
  void copyIn(List<CompletableFuture<Void>> ends) {
    inbound.forEach(copy -> ends.add(copy.submit().get()));
  }

  /** Asks for the copies in the background, and adds their ends. */
  void copyOut(List<CompletableFuture<Void>> ends) {
    outbound.forEach(copy -> ends.add(copy.submit().get()));
  }

  /** Closes the buffers, which are freed when all work that was asked for is done. */
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
