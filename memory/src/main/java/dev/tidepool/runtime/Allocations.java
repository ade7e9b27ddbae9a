package dev.tidepool.runtime;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.pool.PooledBlock;
import dev.tidepool.runtime.flight.Flight;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * How a manager's buffers are born over blocks of its pools. The fast way is one block, one tenancy
 * and one handle; whatever else a buffer may want comes after those. Safe for use by any thread.
 */
final class Allocations {
  private final AcceleratorMemory memory;
  private final Blocks blocks;
  private final Cohorts cohorts;
  private final Accounts accounts;
  private final @Nullable AllocationTrace trace;
  // Whether buffers have a storage from the start.
  private final boolean wakesBuffers;

  Allocations(AcceleratorMemory memory, Blocks blocks, Cohorts cohorts, Accounts accounts) {
    this.memory = memory;
    this.blocks = blocks;
    this.cohorts = cohorts;
    this.accounts = accounts;
    this.trace = memory.session().trace();
    this.wakesBuffers = memory.isParanoid() || trace != null;
  }

  <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length, Allocation allocation) {
    Objects.requireNonNull(allocation, "allocation");
    long bytes = Objects.requireNonNull(type, "type").bytes(length);
    return allocate(type, length, allocation, cohorts.sampled(bytes));
  }

  private <A> UnifiedBuffer<A> allocate(
      ElementType<A> type, long length, Allocation allocation, Cohort.@Nullable Token sampled) {
    long bytes = type.bytes(length);
    PooledBlock block = blocks.forBuffer(bytes, allocation);
    // Only a block that the buffer before still uses has a tenant.
    Tenancy last = block.tenant() instanceof Tenancy before ? before : null;
    Cohort.Token token;
    Tenancy tenancy;
    try {
      // Only now: whoever makes room must not hold the token of a cohort that may have leaked.
      token = sampled == null ? cohorts.join() : sampled;
      tenancy =
          last == null
              ? Tenancy.dormant(memory, type, length, allocation, token.cohort(), block)
              : Tenancy.withoutBlock(memory, type, length, allocation, token.cohort());
      if (last != null) {
        tenancy.succeed(last, block);
      }
    } catch (Throwable e) {
      // The heap may be full: the block is nobody's, and must not be lost.
      if (last == null) {
        block.giveBack();
      } else {
        last.giveUpSuccession();
      }
      throw e;
    }
    accounts.allocated(tenancy, bytes);
    if (last == null) {
      tenancy.occupy();
    }
    TypedBuffer<A> buffer = TypedBuffer.root(tenancy, token, type);
    if (Flight.recordsAllocations()) {
      Flight.allocated(
          memory.id(), allocation.location().name(), type.toString(), allocation.tag(), bytes);
    }
    if (memory.isClosed() || !allocation.isPlain() || wakesBuffers) {
      prepare(buffer, tenancy, allocation);
    }
    return buffer;
  }

  /** What the fast way leaves out. */
  private void prepare(TypedBuffer<?> buffer, Tenancy tenancy, Allocation allocation) {
    if (wakesBuffers) {
      Storage storage = tenancy.storage();
      if (trace != null) {
        storage.record(trace);
      }
    }
    try {
      // The manager may have closed meanwhile, and missed this buffer.
      memory.checkOpen();
      if (allocation.isZeroed()) {
        buffer.zero();
      }
    } catch (RuntimeException | Error e) {
      buffer.close();
      throw e;
    }
  }

  /** The same on a library thread; a buffer that comes too late for its future is closed. */
  <A> CompletableFuture<UnifiedBuffer<A>> allocateAsync(
      ElementType<A> type, long length, Allocation allocation) {
    Objects.requireNonNull(allocation, "allocation");
    // Here, where the stack is the user's.
    Cohort.Token sampled = cohorts.sampled(Objects.requireNonNull(type, "type").bytes(length));
    CompletableFuture<UnifiedBuffer<A>> future = memory.track(new CompletableFuture<>());
    memory
        .transferThreads()
        .execute(
            () -> {
              if (future.isDone()) {
                return;
              }
              try {
                memory.checkOpen();
                UnifiedBuffer<A> buffer = allocate(type, length, allocation, sampled);
                memory
                    .completions()
                    .execute(
                        () -> {
                          if (!future.complete(buffer)) {
                            buffer.close();
                          }
                        });
              } catch (RuntimeException | Error e) {
                memory.completions().execute(() -> future.completeExceptionally(e));
              }
            });
    return future;
  }

  /** A buffer with the elements of an array of primitives. */
  <A> UnifiedBuffer<A> copyOf(A array) {
    @SuppressWarnings("unchecked") // the type was found by the array's own class
    ElementType<A> type =
        (ElementType<A>)
            ElementType.ofArray(array.getClass())
                .orElseThrow(
                    () ->
                        new IllegalArgumentException(
                            "copyOf takes arrays of primitives, not "
                                + array.getClass().getTypeName()
                                + "; allocate a buffer of ElementType.struct(...) and copy"));
    UnifiedBuffer<A> buffer = memory.allocate(type, type.length(array));
    try {
      buffer.copyFrom(array);
      return buffer;
    } catch (RuntimeException | Error e) {
      buffer.close();
      throw e;
    }
  }
}
