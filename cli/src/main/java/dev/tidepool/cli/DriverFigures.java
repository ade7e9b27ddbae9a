package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Figures by which users judge a CUDA card, as rows of {@code tidepool bench}. Some compare the
 * library with the driver's own calls for the same work, others compare ways of the library. On
 * both sides, transfers are many queued copies and one wait. As in nvbandwidth, the median of
 * several turns after a warm-up counts, but the host measures the time.
 */
final class DriverFigures {
  private static final String BESIDE_THE_DRIVER = "what the library does beside the driver's call";
  private static final String MORE_WORK = "it does more; the other is a bound";

  private static final long[] ALLOCATED = {1 << 10, 1 << 20, 100 << 20, 1 << 30};
  private static final long PLAINLY_ALLOCATED = 100 << 20;
  private static final int ALLOCATIONS = 100;
  private static final long LARGEST_TRANSFER = 256 << 20;
  private static final long LARGEST_ARRAY = 1 << 30;
  private static final int QUEUED = 8;
  private static final int SMALL_TRANSFERS = 1000;
  private static final int SMALL_ELEMENTS = 1024;
  private static final int CHUNKS = 8;
  private static final int CHUNKS_IN_FLIGHT = 3;

  /** Four of these buffers fit the limit. */
  private static final int WORKING_SET = 6;

  private final UnifiedMemoryManager memory;
  private final List<UnifiedMemoryManager> peers;
  private final QuickFigures table;
  private final long transferBytes;
  private final long arrayBytes;

  /**
   * Creates rows for the table, sized for the free memory.
   *
   * @param others the managers of further accelerators
   */
  DriverFigures(
      UnifiedMemoryManager memory, List<UnifiedMemoryManager> others, QuickFigures table) {
    this.memory = memory;
    this.peers = others.stream().filter(DriverFigures::isCuda).toList();
    this.table = table;
    Accelerator accelerator = memory.accelerator();
    long room = accelerator.memory().freeBytes() / 16 / Long.BYTES * Long.BYTES;
    this.transferBytes = Math.min(LARGEST_TRANSFER, room);
    this.arrayBytes = Math.min(LARGEST_ARRAY, room);
  }

  /** Measures all rows if the accelerator is a CUDA device. */
  void run() {
    if (isCuda(memory)) {
      table.head("beside the bare driver");
      beside(memory, transferBytes, "allocations and transfers", this::besideTheDriver);
      // Larger blocks, so that a copy reads and writes as many bytes as the kernel.
      beside(memory, arrayBytes / 2 * 3, "z = sqrt(x*x + y*y)", this::elementwise);
      table.head("of CUDA, the library's ways");
      staging();
      smallTransfers();
      pipeline();
      managed();
      oversubscribed();
    }
  }

  private static boolean isCuda(UnifiedMemoryManager memory) {
    return BareCuda.drives(memory.accelerator().id());
  }

  /** Measures rows with the bare driver; reports them as absent if the driver refuses. */
  private void beside(
      UnifiedMemoryManager manager, long bytes, String what, Consumer<BareCuda> rows) {
    try (BareCuda driver = BareCuda.open(manager.accelerator().id(), bytes)) {
      rows.accept(driver);
    } catch (UnsupportedOperationException why) {
      table.absent(what, why);
    }
  }

  private void besideTheDriver(BareCuda driver) {
    allocations(driver);
    transfers(driver);
    for (UnifiedMemoryManager peer : peers) {
      String what = "to " + peer.accelerator().id();
      beside(peer, transferBytes, what, there -> toPeer(driver, peer, there));
    }
  }

  private void allocations(BareCuda driver) {
    // The pool keeps one block while the driver allocates another one.
    long free = memory.accelerator().memory().freeBytes();
    for (long bytes : ALLOCATED) {
      String what = "allocate and free " + Figures.bytes(bytes);
      if (bytes > free / 4) {
        table.absent(
            what,
            new UnsupportedOperationException(
                "it takes four times as much, and " + Figures.bytes(free) + " are free"));
      } else {
        Runnable pooled = () -> memory.allocate(ElementType.BYTE, bytes).close();
        table.row(
            what,
            ALLOCATIONS,
            pooled,
            "async",
            () -> driver.allocateInOrder(bytes),
            BESIDE_THE_DRIVER);
        if (bytes == PLAINLY_ALLOCATED) {
          table.row(
              what, pooled, "cuMemAlloc", () -> driver.allocatePlainly(bytes), BESIDE_THE_DRIVER);
        }
      }
    }
  }

  private void transfers(BareCuda driver) {
    long bytes = transferBytes;
    String size = QUEUED + " x " + Figures.bytes(bytes);
    try (UnifiedBuffer<float[]> device = buffer(bytes, MemoryLocation.DEVICE);
        UnifiedBuffer<float[]> other = buffer(bytes, MemoryLocation.DEVICE);
        UnifiedBuffer<float[]> pinned = buffer(bytes, MemoryLocation.PINNED)) {
      table.row(
          "pinned to device, " + size,
          () -> queued(() -> device.copyFromAsync(pinned)),
          "driver",
          () -> driver.hostToDevice(bytes, QUEUED),
          BESIDE_THE_DRIVER);
      table.row(
          "device to pinned, " + size,
          () -> queued(() -> pinned.copyFromAsync(device)),
          "driver",
          () -> driver.deviceToHost(bytes, QUEUED),
          BESIDE_THE_DRIVER);
      table.row(
          "device to device, " + size,
          () -> queued(() -> other.copyFromAsync(device)),
          "driver",
          () -> driver.deviceToDevice(bytes, QUEUED),
          "the host is asked between two copies on the device, and wakes late");
    }
  }

  private void toPeer(BareCuda here, UnifiedMemoryManager peer, BareCuda there) {
    String what = "to " + peer.accelerator().id() + ", " + QUEUED + " x ";
    try (UnifiedBuffer<float[]> source = buffer(transferBytes, MemoryLocation.DEVICE);
        UnifiedBuffer<float[]> target =
            peer.allocate(ElementType.FLOAT, transferBytes / Float.BYTES)) {
      table.row(
          what + Figures.bytes(transferBytes),
          () -> queued(() -> target.copyFromAsync(source)),
          "driver",
          () -> there.fromPeer(here, transferBytes, QUEUED),
          BESIDE_THE_DRIVER);
    }
  }

  private static void queued(Supplier<CompletableFuture<Void>> copy) {
    List<CompletableFuture<Void>> copies = new ArrayList<>();
    for (int i = 0; i < QUEUED; i++) {
      copies.add(copy.get());
    }
    copies.forEach(CompletableFuture::join);
  }

  private UnifiedBuffer<float[]> buffer(long bytes, MemoryLocation location) {
    UnifiedBuffer<float[]> buffer =
        memory.allocate(ElementType.FLOAT, bytes / Float.BYTES, location);
    buffer.fill((byte) 0);
    return buffer;
  }

  private void elementwise(BareCuda driver) {
    Kernel kernel = memory.compile(KernelSource.elementwise("z = sqrt(x*x + y*y)"));
    try (UnifiedBuffer<float[]> x = buffer(arrayBytes, MemoryLocation.DEVICE);
        UnifiedBuffer<float[]> y = buffer(arrayBytes, MemoryLocation.DEVICE);
        UnifiedBuffer<float[]> z = buffer(arrayBytes, MemoryLocation.DEVICE)) {
      Arguments arguments = Arguments.of("x", x, "y", y, "z", z);
      table.row(
          "z = sqrt(x*x + y*y), " + Figures.bytes(arrayBytes),
          () -> kernel.execute(arguments),
          "as a copy",
          () -> driver.deviceToDevice(arrayBytes / 2 * 3, 1),
          "a copy of as many bytes is the most that a kernel can reach");
    }
  }

  private void staging() {
    float[] array = new float[Math.toIntExact(transferBytes / Float.BYTES)];
    try (UnifiedBuffer<float[]> device = buffer(transferBytes, MemoryLocation.DEVICE);
        UnifiedBuffer<float[]> pinned = buffer(transferBytes, MemoryLocation.PINNED)) {
      table.row(
          "array to device, " + Figures.bytes(transferBytes),
          () -> device.copyFrom(array),
          "pinned",
          () -> device.copyFrom(pinned),
          "an array is copied to pinned memory first, by several threads");
    }
  }

  private void smallTransfers() {
    float[] array = new float[SMALL_ELEMENTS];
    long all = (long) SMALL_TRANSFERS * SMALL_ELEMENTS;
    try (UnifiedBuffer<float[]> device = buffer(all * Float.BYTES, MemoryLocation.DEVICE)) {
      List<UnifiedBuffer<float[]>> slices = new ArrayList<>();
      List<Transfer<float[]>> list = new ArrayList<>();
      for (int i = 0; i < SMALL_TRANSFERS; i++) {
        slices.add(device.slice((long) i * SMALL_ELEMENTS, SMALL_ELEMENTS));
        list.add(Transfer.of(array, slices.getLast()));
      }
      table.row(
          SMALL_TRANSFERS + " x 4 KiB in a list",
          () -> memory.transfers().transfer(list, TransferOptions.defaults()),
          "each alone",
          () -> slices.forEach(slice -> slice.copyFrom(array)),
          "what a list costs the host is more than it saves here");
    }
  }

  private void pipeline() {
    Kernel kernel = memory.compile(KernelSource.elementwise("x = sqrt(x*x + 1)"));
    long chunk = transferBytes / CHUNKS / Long.BYTES * Long.BYTES;
    long bytes = chunk * CHUNKS;
    List<UnifiedBuffer<float[]>> chunks = new ArrayList<>();
    try (UnifiedBuffer<float[]> pinnedIn = buffer(bytes, MemoryLocation.PINNED);
        UnifiedBuffer<float[]> pinnedOut = buffer(bytes, MemoryLocation.PINNED);
        UnifiedBuffer<float[]> plainIn = buffer(bytes, MemoryLocation.HOST);
        UnifiedBuffer<float[]> plainOut = buffer(bytes, MemoryLocation.HOST);
        UnifiedBuffer<float[]> device = buffer(bytes, MemoryLocation.DEVICE)) {
      for (int i = 0; i < CHUNKS_IN_FLIGHT; i++) {
        chunks.add(buffer(chunk, MemoryLocation.DEVICE));
      }
      Runnable pipelined = () -> pipelined(kernel, pinnedIn, pinnedOut, chunks);
      table.row(
          "in, computed, out, " + Figures.bytes(bytes),
          pipelined,
          "in turn",
          () -> {
            device.copyFrom(plainIn);
            kernel.execute(Arguments.of("x", device));
            plainOut.copyFrom(device);
          },
          "the link carries both directions no faster than one");
      table.row("the same", pipelined, "in alone", () -> device.copyFrom(pinnedIn), MORE_WORK);
    } finally {
      chunks.forEach(UnifiedBuffer::close);
    }
  }

  private static void pipelined(
      Kernel kernel,
      UnifiedBuffer<float[]> in,
      UnifiedBuffer<float[]> out,
      List<UnifiedBuffer<float[]>> chunks) {
    List<CompletableFuture<Void>> done = new ArrayList<>();
    for (int i = 0; i < CHUNKS; i++) {
      UnifiedBuffer<float[]> chunk = chunks.get(i % chunks.size());
      long at = i * chunk.length();
      done.add(chunk.copyFromAsync(in.slice(at, chunk.length())));
      done.add(kernel.executeAsync(Arguments.of("x", chunk)));
      done.add(out.slice(at, chunk.length()).copyFromAsync(chunk));
    }
    done.forEach(CompletableFuture::join);
  }

  private void managed() {
    Kernel kernel = memory.compile(KernelSource.elementwise("x = x + 1"));
    try (UnifiedBuffer<float[]> unified = buffer(transferBytes, MemoryLocation.UNIFIED);
        UnifiedBuffer<float[]> device = buffer(transferBytes, MemoryLocation.DEVICE);
        UnifiedBuffer<float[]> pinned = buffer(transferBytes, MemoryLocation.PINNED)) {
      table.row(
          "managed, there and back",
          () -> {
            unified.prefetchToDevice();
            kernel.execute(Arguments.of("x", unified));
            unified.prefetchToHost();
            memory.synchronize();
          },
          "explicit",
          () -> {
            device.copyFrom(pinned);
            kernel.execute(Arguments.of("x", device));
            pinned.copyFrom(device);
          },
          "the driver moves managed memory page by page");
    } catch (UnsupportedOperationException absent) {
      table.absent("managed, there and back", absent);
    }
  }

  /** Measures a working set that exceeds the limit, so that buffers are spilled and read back. */
  private void oversubscribed() {
    // A power of two, which no size class rounds up.
    long each = Long.highestOneBit(transferBytes / WORKING_SET);
    MemoryOptions.Builder unpooled = MemoryOptions.builder().pooling(false);
    try (Scratch scratch = Scratch.create();
        UnifiedMemoryManager enough =
            UnifiedMemoryManager.create(memory.accelerator(), unpooled.build());
        UnifiedMemoryManager limited =
            UnifiedMemoryManager.create(
                memory.accelerator(),
                unpooled
                    .memoryLimit((WORKING_SET - 2) * each)
                    .spillDirectory(scratch.folder())
                    .build())) {
      try (WorkingSet tight = WorkingSet.of(limited, each);
          WorkingSet wide = WorkingSet.of(enough, each)) {
        table.row(
            "working set of 1.5 limits", tight::increment, "all fits", wide::increment, MORE_WORK);
      }
    } catch (IOException e) {
      table.absent("working set of 1.5 limits", new UnsupportedOperationException(e));
    }
  }

  /** Buffers that a kernel uses in turn. */
  private record WorkingSet(Kernel kernel, List<UnifiedBuffer<float[]>> buffers)
      implements AutoCloseable {
    static WorkingSet of(UnifiedMemoryManager manager, long each) {
      WorkingSet set =
          new WorkingSet(manager.compile(KernelSource.elementwise("x = x + 1")), new ArrayList<>());
      for (int i = 0; i < WORKING_SET; i++) {
        set.buffers.add(manager.allocate(ElementType.FLOAT, each / Float.BYTES));
        set.buffers.getLast().fill((byte) 0);
      }
      return set;
    }

    void increment() {
      buffers.forEach(buffer -> kernel.execute(Arguments.of("x", buffer)));
    }

    @Override
    public void close() {
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  /** A temporary folder. */
  private record Scratch(Path folder) implements AutoCloseable {
    static Scratch create() throws IOException {
      return new Scratch(Files.createTempDirectory("tidepool-bench"));
    }

    @Override
    public void close() throws IOException {
      try (Stream<Path> files = Files.list(folder)) {
        for (Path file : files.toList()) {
          Files.deleteIfExists(file);
        }
      }
      Files.delete(folder);
    }
  }
}
