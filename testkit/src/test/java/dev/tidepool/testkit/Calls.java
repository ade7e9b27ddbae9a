package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** All kinds of calls, on the same few buffers, for tests that let each fail anywhere. */
final class Calls {
  private static final int LENGTH = 2048;
  private static final Allocation DEVICE = Allocation.at(MemoryLocation.DEVICE);

  /** What a call in the background returns. It is kept until it is closed, as a user must. */
  private static final class BackgroundResult<T> {
    private final Consumer<T> closing;
    private @Nullable CompletableFuture<T> future;

    BackgroundResult(Consumer<T> closing) {
      this.closing = closing;
    }

    void close() {
      if (future != null) {
        closing.accept(future.join());
      }
    }
  }

  private final Tidepool tidepool;
  private final UnifiedMemoryManager memory;
  private final UnifiedBuffer<int[]> buffer;
  private final UnifiedBuffer<int[]> other;
  private final UnifiedBuffer<int[]> far;
  private final Kernel kernel;
  private final int[] array = new int[LENGTH];
  private @Nullable BackgroundResult<?> last;
  private final MemorySegment foreign = Arena.ofAuto().allocate(ValueLayout.JAVA_INT, LENGTH);

  /**
   * Calls of one accelerator.
   *
   * @param second is copied to and from
   */
  Calls(Tidepool tidepool, String accelerator, String second) {
    this.tidepool = tidepool;
    memory = tidepool.memory(tidepool.accelerator(accelerator));
    buffer = memory.allocate(ElementType.INT, LENGTH);
    other = memory.allocate(ElementType.INT, LENGTH);
    far = tidepool.memory(tidepool.accelerator(second)).allocate(ElementType.INT, LENGTH);
    kernel = memory.compile(KernelSource.elementwise("y = y + x"));
  }

  UnifiedMemoryManager memory() {
    return memory;
  }

  /** The calls by name. */
  Map<String, Runnable> all() {
    Map<String, Runnable> calls = new LinkedHashMap<>();
    calls.put("copyFrom", () -> buffer.copyFrom(array));
    calls.put("copyTo", () -> buffer.copyTo(array));
    calls.put("copyFromAsync", () -> buffer.copyFromAsync(array).join());
    calls.put("copyToAsync", () -> buffer.copyToAsync(array).join());
    calls.put("buffer to buffer", () -> buffer.copyFrom(other));
    calls.put("buffer to buffer in the background", () -> buffer.copyFromAsync(other).join());
    calls.put("between devices", () -> buffer.copyFrom(far));
    calls.put("slice", () -> buffer.slice(7, 100).copyFrom(other.slice(100, 100)));
    calls.put("fill", () -> buffer.fill((byte) 3));
    calls.put("segment", () -> buffer.asSegment().set(ValueLayout.JAVA_INT, 0, 3));
    calls.put("read-only segment", () -> buffer.asReadOnlySegment().byteSize());
    calls.put("map", this::map);
    calls.put("synchronize", buffer::synchronize);
    calls.put("prefetch to the device", buffer::prefetchToDevice);
    calls.put("prefetch to the host", buffer::prefetchToHost);
    calls.put("kernel", () -> kernel.execute(Arguments.of("y", buffer, "x", other)));
    calls.put(
        "kernel in the background",
        () -> kernel.executeAsync(Arguments.of("y", buffer, "x", other)).join());
    calls.put("kernel beside a kernel", this::kernelBesideKernel);
    calls.put("kernel over an array", () -> kernel.execute(Arguments.of("y", buffer, "x", array)));
    calls.put("copy with options", this::copyWithOptions);
    calls.put("list of transfers", this::transfer);
    calls.put("scatter and gather", this::scatterAndGather);
    calls.put("broadcast", () -> tidepool.peers().broadcast(buffer, List.of(other, far)));
    calls.put("close", () -> memory.allocate(ElementType.INT, LENGTH).close());
    calls.put("copyOf", this::copyOf);
    calls.put("first fill", () -> withNew(fresh -> fresh.fill((byte) 1)));
    calls.put("first metrics", () -> withNew(UnifiedBuffer::metrics));
    calls.put("close behind a kernel", this::closeBehindKernel);
    calls.put(
        "allocate in the background",
        () ->
            inBackground(
                () -> memory.allocateAsync(ElementType.INT, LENGTH, DEVICE), UnifiedBuffer::close));
    calls.put(
        "map in the background",
        () -> inBackground(() -> buffer.mapAsync(MapMode.READ_WRITE), HostMapping::close));
    calls.put("lend", () -> memory.lend(NativeUse.readWrite(buffer)).close());
    calls.put(
        "lend in the background",
        () -> inBackground(() -> memory.lendAsync(NativeUse.read(buffer)), NativeAccess::close));
    calls.put("adopt", this::adopt);
    calls.put("reserve", () -> memory.reserve("calls", 1 << 20, Duration.ZERO).close());
    calls.put("suspend", this::suspend);
    calls.put("synchronize all", memory::synchronize);
    calls.put("trim", memory::trimExcess);
    calls.put("defragment", memory::defragment);
    calls.put("snapshot", memory::snapshot);
    return calls;
  }

  private <T> void inBackground(Supplier<CompletableFuture<T>> call, Consumer<T> close) {
    closeResult();
    BackgroundResult<T> result = new BackgroundResult<>(close);
    last = result;
    result.future = call.get();
    closeResult();
  }

  /** Closes the result of the last call in the background that has one and could not close it. */
  private void closeResult() {
    BackgroundResult<?> result = last;
    if (result != null) {
      try {
        result.close();
      } catch (CompletionException e) {
        // There is nothing to close.
        last = null;
        throw e;
      }
      last = null;
    }
  }

  private void map() {
    try (HostMapping mapping = buffer.map(MapMode.READ_WRITE)) {
      mapping.segment().fill((byte) 1);
    }
  }

  private void adopt() {
    NativeHandle handle =
        new NativeHandle(NativeKind.HOST_POINTER, foreign.address(), 0, foreign.byteSize());
    try (UnifiedBuffer<int[]> adopted = memory.adopt(ElementType.INT, handle, () -> {})) {
      kernel.execute(Arguments.of("y", adopted, "x", other));
    }
  }

  private void suspend() {
    memory.suspend();
    memory.resume();
  }

  private void copyWithOptions() {
    memory
        .transfers()
        .copyAsync(other, buffer, TransferOptions.defaults())
        .thenRun(Calls::checkMayBlock)
        .join();
  }

  /** Called by the stage of a future. */
  private static void checkMayBlock() {
    assertThat(Thread.currentThread().getName()).doesNotContain("maintenance");
  }

  private void transfer() {
    memory
        .transfers()
        .transfer(
            List.of(Transfer.of(array, buffer), Transfer.of(other, array)),
            TransferOptions.defaults());
  }

  private void scatterAndGather() {
    List<UnifiedBuffer<int[]>> parts =
        List.of(far.slice(0, 1000), other.slice(1000, LENGTH - 1000));
    tidepool.peers().scatterAsync(buffer, parts).thenRun(Calls::checkMayBlock).join();
    tidepool.peers().gather(parts, buffer);
  }

  private void withNew(Consumer<UnifiedBuffer<int[]>> use) {
    try (UnifiedBuffer<int[]> fresh = memory.allocate(ElementType.INT, LENGTH)) {
      use.accept(fresh);
    }
  }

  private void copyOf() {
    try (UnifiedBuffer<int[]> copy = memory.copyOf(array)) {
      copy.fill((byte) 1);
    }
  }

  /**
   * The second is submitted while the first is under way, on another queue if there are several.
   */
  private void kernelBesideKernel() {
    try (UnifiedBuffer<int[]> beside = memory.allocate(ElementType.INT, LENGTH, DEVICE)) {
      var first = kernel.executeAsync(Arguments.of("y", buffer, "x", other));
      kernel.executeAsync(Arguments.of("y", beside, "x", other)).join();
      first.join();
    }
  }

  private void closeBehindKernel() {
    try (UnifiedBuffer<int[]> passing = memory.allocate(ElementType.INT, LENGTH, DEVICE)) {
      var _ = kernel.executeAsync(Arguments.of("y", passing, "x", other));
    }
  }

  /** Uses the buffers, which no call may have left unusable; fails with what a prefetch kept. */
  void use() {
    closeResult();
    int[] expected = new int[LENGTH];
    Arrays.setAll(expected, i -> 7 * i);
    buffer.copyFrom(expected);
    kernel.execute(Arguments.of("y", buffer, "x", other));
    buffer.copyFrom(expected);
    int[] seen = new int[LENGTH];
    buffer.copyTo(seen);
    assertThat(seen).isEqualTo(expected);
    far.copyFrom(buffer);
  }

  void close() {
    far.close();
    other.close();
    buffer.close();
    memory.synchronize();
  }
}
