package dev.tidepool;

import static java.util.stream.Collectors.joining;

import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.diagnostics.Defragmentation;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.diagnostics.Fragmentation;
import dev.tidepool.diagnostics.GuardReport;
import dev.tidepool.diagnostics.PeakScope;
import dev.tidepool.diagnostics.Snapshot;
import dev.tidepool.diagnostics.Suspension;
import dev.tidepool.pooling.ArrayPool;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.transfer.TransferEngine;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;

/**
 * Allocates buffers on one accelerator, pools their memory, and counts it.
 *
 * {@snippet :
 * try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
 *     UnifiedBuffer<float[]> x = memory.copyOf(new float[] {1, 2, 3});
 *     UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, 3)) {
 *   memory.compile(KernelSource.elementwise("y = 2 * x")).execute(Arguments.of("x", x, "y", y));
 *   float[] result = new float[3];
 *   y.copyTo(result);
 * }
 * }
 *
 * <p>Thread-safe. Every method of a closed manager but {@link #close()}, {@link #accelerator()},
 * {@link #limit()} and {@link #statistics()} throws {@link IllegalStateException}.
 */
public interface UnifiedMemoryManager extends AutoCloseable {
  /**
   * Returns a manager on the {@linkplain Tidepool best} accelerator present; closing it closes all
   * that was opened for it. Drivers that offer this machine's processor only are not loaded.
   */
  static UnifiedMemoryManager create() {
    return create(MemoryOptions.defaults());
  }

  /** {@link #create()} with options. */
  static UnifiedMemoryManager create(MemoryOptions options) {
    return create("auto", options);
  }

  /**
   * Returns a manager on one accelerator; closing it closes all that was opened for it.
   *
   * {@snippet :
   * UnifiedMemoryManager memory = UnifiedMemoryManager.create("cpu:0");
   * }
   *
   * @param accelerator its id ({@code opencl:0}), its kind for the best of that kind ({@code
   *     opencl}), or {@code auto} for the best of all. No drivers of other kinds are loaded; {@code
   *     cpu:0} loads none
   * @throws IllegalArgumentException if there is none; the message lists those that exist
   */
  static UnifiedMemoryManager create(String accelerator) {
    return create(accelerator, MemoryOptions.defaults());
  }

  /** {@link #create(String)} with options. */
  static UnifiedMemoryManager create(String accelerator, MemoryOptions options) {
    return TidepoolRuntime.installed().createManager(accelerator, options);
  }

  /**
   * Returns a manager on the {@linkplain Tidepool best} accelerator that satisfies a condition;
   * closing it closes all that was opened for it.
   *
   * {@snippet :
   * UnifiedMemoryManager memory =
   *     UnifiedMemoryManager.create(
   *         each -> each.capabilities().contains(Capability.FLOAT64), MemoryOptions.defaults());
   * }
   *
   * @param condition may be asked about any accelerator of this machine; all drivers are loaded
   * @throws IllegalArgumentException if there is none; the message lists those that exist
   */
  static UnifiedMemoryManager create(
      Predicate<? super Accelerator> condition, MemoryOptions options) {
    return TidepoolRuntime.installed().createManager(condition, options);
  }

  /**
   * Returns a further manager on an accelerator of an open {@link Tidepool}, with pools of its own.
   * It closes with that Tidepool at the latest.
   *
   * <p>All managers of a Tidepool share {@code pinned-limit}, {@code peer-access}, {@code
   * managed-memory}, {@code zero-copy-buffers}, {@code concurrent-transfers} and {@code trace},
   * which are set by {@link Tidepool#open(MemoryOptions)}. Left at their defaults here, they are
   * what the Tidepool has.
   *
   * @throws IllegalArgumentException if the options set one of those to another value than the
   *     Tidepool's
   */
  static UnifiedMemoryManager create(Accelerator accelerator, MemoryOptions options) {
    return TidepoolRuntime.installed().createManager(accelerator, options);
  }

  /** The accelerator that the buffers' device copies are on. */
  Accelerator accelerator();

  /**
   * Returns a buffer in the device's memory, pooled, its contents undefined.
   *
   * @throws IllegalArgumentException if {@code length} is negative or its bytes exceed 64 bits
   * @throws OutOfDeviceMemoryException if there is no room after all that can be given back was, or
   *     the buffer is larger than the device's largest; the message names that maximum
   */
  default <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length) {
    return allocate(type, length, MemoryLocation.DEVICE);
  }

  /** Returns a buffer at a location, pooled, its contents undefined. */
  default <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length, MemoryLocation location) {
    return allocate(type, length, Allocation.at(location));
  }

  /** Returns a buffer as {@code allocation} says. */
  <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length, Allocation allocation);

  /** {@link #allocate(ElementType, long)} in the background; cancelling the future frees it. */
  default <A> CompletableFuture<UnifiedBuffer<A>> allocateAsync(ElementType<A> type, long length) {
    return allocateAsync(type, length, Allocation.at(MemoryLocation.DEVICE));
  }

  /** Allocates in the background; cancelling the future frees the buffer. */
  <A> CompletableFuture<UnifiedBuffer<A>> allocateAsync(
      ElementType<A> type, long length, Allocation allocation);

  /** Records as a struct of arrays, in DEVICE buffers, their contents undefined. */
  default <R extends Record> StructOfArrays<R> allocateStructOfArrays(
      Class<R> recordType, long length) {
    return allocateStructOfArrays(
        ElementType.struct(recordType), length, Allocation.at(MemoryLocation.DEVICE));
  }

  /**
   * Records as a struct of arrays: a buffer for each component, each as {@code allocation} says.
   * Either all are allocated or none.
   *
   * @param structType from {@link ElementType#struct(Class)}, or its form with a lookup
   * @throws IllegalArgumentException if the elements are no records, or {@code length} is negative
   * @throws OutOfDeviceMemoryException if there is no room for one of the buffers
   */
  <R extends Record> StructOfArrays<R> allocateStructOfArrays(
      ElementType<R[]> structType, long length, Allocation allocation);

  /**
   * {@link #allocateStructOfArrays(ElementType, long, Allocation)} in the background; a cancelled
   * future closes what it has allocated.
   */
  <R extends Record> CompletableFuture<StructOfArrays<R>> allocateStructOfArraysAsync(
      ElementType<R[]> structType, long length, Allocation allocation);

  /**
   * Returns a new DEVICE buffer with an array's contents.
   *
   * @throws IllegalArgumentException if {@code array} is no array of primitives (but {@code char}):
   *     allocate arrays of records by their {@link ElementType#struct type}
   */
  default <A> UnifiedBuffer<A> copyOf(A array) {
    return copyOf(array, Allocation.at(MemoryLocation.DEVICE));
  }

  /**
   * Returns a new buffer with an array's contents, allocated as {@code allocation} says.
   *
   * {@snippet :
   * Allocation tagged = Allocation.at(MemoryLocation.DEVICE).tag("weights");
   * UnifiedBuffer<float[]> weights = memory.copyOf(new float[] {1, 2, 3}, tagged);
   * }
   *
   * @throws IllegalArgumentException as {@link #copyOf(Object)}
   */
  <A> UnifiedBuffer<A> copyOf(A array, Allocation allocation);

  /** {@link #copyOf(Object)} in the background. The array must stay untouched until then. */
  default <A> CompletableFuture<UnifiedBuffer<A>> copyOfAsync(A array) {
    return copyOfAsync(array, Allocation.at(MemoryLocation.DEVICE));
  }

  /**
   * {@link #copyOf(Object, Allocation)} in the background. The array must stay untouched until
   * then; a cancelled future closes its buffer.
   */
  <A> CompletableFuture<UnifiedBuffer<A>> copyOfAsync(A array, Allocation allocation);

  /**
   * Refuses one number. Kernels take numbers as they are; otherwise put it into an array of one
   * element. The compiler chooses this form for numbers, and as it returns nothing, a program that
   * expects a buffer does not compile.
   *
   * @throws IllegalArgumentException always
   */
  default void copyOf(double number) {
    copyOf(number, Allocation.at(MemoryLocation.DEVICE));
  }

  /**
   * {@link #copyOf(double)} with an allocation.
   *
   * @throws IllegalArgumentException always
   */
  default void copyOf(double number, Allocation allocation) {
    throw new IllegalArgumentException(
        "copyOf takes arrays of primitives, not one number; pass a number to a kernel as it is, or"
            + " put it into an array of one element");
  }

  /**
   * Refuses arrays of objects. For rows, {@link #allocate allocate} one buffer for all of them, and
   * copy each to its {@linkplain UnifiedBuffer#slice slice}. For records, allocate a buffer of
   * their {@linkplain ElementType#struct type}, and copy the array to it. The compiler chooses this
   * form for such arrays, and as it returns nothing, a program that expects a buffer does not
   * compile.
   *
   * @throws IllegalArgumentException always
   */
  default void copyOf(Object[] rowsOrRecords) {
    copyOf(rowsOrRecords, Allocation.at(MemoryLocation.DEVICE));
  }

  /**
   * {@link #copyOf(Object[])} with an allocation.
   *
   * @throws IllegalArgumentException always
   */
  default void copyOf(Object[] rowsOrRecords, Allocation allocation) {
    Object array = rowsOrRecords;
    copyOf(array, allocation).close();
  }

  /**
   * Returns a HOST buffer over memory of the caller, which keeps owning it. The memory is the
   * host's copy of the buffer. Kernels of the CPU compute in it; every other accelerator works on a
   * copy in its own memory, and {@link UnifiedBuffer#close()} brings newer bytes back. The arena
   * must stay open until then: if it is closed first, what the device computed is lost, and
   * reported.
   *
   * <p>Two buffers over the same memory do not know of each other: each has an order of work and
   * copies of its own. Use one, and slices of it.
   *
   * @throws IllegalArgumentException if the segment is on the heap, belongs to one thread, is
   *     read-only, or is no whole number of elements
   */
  <A> UnifiedBuffer<A> wrap(ElementType<A> type, MemorySegment memory);

  /**
   * Like {@link #wrap(ElementType, MemorySegment)}, which is HOST, but at a location. A PINNED
   * buffer's memory is page-locked where it lies, so that transfers reach it without staging. Its
   * arena cannot be closed before the buffer: an attempt is an {@link IllegalStateException}.
   * Locking takes as long as touching all of the memory, and costs a thread until the buffer is
   * closed, so it is for long-lived buffers. Where the accelerator or the option {@code
   * pinned-limit} refuses, the memory stays as it is, and {@link
   * MemoryStatistics#pinnedFallbacks()} counts that. The same holds where a file may be behind the
   * memory, because a driver would end the process if the file were truncated. Linux says which
   * memory has no file; on other systems no memory of the caller is locked.
   *
   * @throws IllegalArgumentException also if the location is DEVICE or UNIFIED
   */
  <A> UnifiedBuffer<A> wrap(ElementType<A> type, MemorySegment memory, MemoryLocation location);

  /**
   * Like {@link #wrap(ElementType, MemorySegment, MemoryLocation)}, with a tag for reports and
   * {@link #bytesByTag()}. Untagged memory of the caller has the tag {@code wrapped}.
   *
   * @throws IllegalArgumentException as there
   */
  <A> UnifiedBuffer<A> wrap(
      ElementType<A> type, MemorySegment memory, MemoryLocation location, String tag);

  /**
   * Returns a buffer that owns memory of another library: {@code release} runs once, after the last
   * use of the memory, and gives it back. Nothing is copied.
   *
   * {@snippet :
   * NativeHandle handle = NativeHandle.of(memoryOfALibrary);
   * UnifiedBuffer<float[]> buffer =
   *     memory.adopt(ElementType.FLOAT, handle, () -> library.release(memoryOfALibrary));
   * }
   *
   * <p>Memory of the host (a {@link NativeKind#HOST_POINTER}) makes a HOST buffer. Kernels of the
   * CPU compute in it; every other accelerator works on a copy in its own memory. Memory of the
   * device makes a DEVICE buffer: kernels compute in it, and the host has a copy where it needs
   * one. It must be of this manager's device and context: {@link NativeAccess#context()} tells
   * which. Such memory does not move, and does not count against limits. Of either kind {@link
   * UnifiedBuffer#close()} brings newer bytes back before {@code release} runs. What the other
   * library does with the memory must have ended before the call.
   *
   * <p>The driver is asked about memory of a device, but what is passed as a {@code cl_mem} must be
   * one, and OpenCL does not tell how large shared virtual memory is. Whether an address of the
   * host is valid cannot be checked: the caller promises that the memory stays until {@code
   * release} runs. That happens when the buffer is closed and its work has ended, when the manager
   * closes, or after the buffer became unreachable. The closing thread runs it, or a thread of the
   * library's for which nothing waits. So {@code release} must not refer to the buffer, which would
   * stay reachable, and must not wait for work of this manager. What it throws is logged. A segment
   * of {@link UnifiedBuffer#asSegment()} over memory of the host ends before that: later access
   * fails with an {@link IllegalStateException}. While a native call uses the segment, {@code
   * release} waits for its end, on another thread.
   *
   * @param memory aligned as an element is
   * @throws IllegalArgumentException if its address is null, negative or not aligned, it is no
   *     whole number of elements, or it is of a kind, device or context that this manager's device
   *     does not have. Whatever this throws, {@code release} has not run and will not: the memory
   *     stays the caller's
   */
  default <A> UnifiedBuffer<A> adopt(ElementType<A> type, NativeHandle memory, Runnable release) {
    return adopt(type, memory, MapMode.READ_WRITE, release);
  }

  /**
   * Like {@link #adopt(ElementType, NativeHandle, Runnable)}, for memory that may have to stay as
   * it is: READ refuses writes with an {@link UnsupportedOperationException}; the other modes allow
   * them.
   *
   * @throws IllegalArgumentException as there
   */
  <A> UnifiedBuffer<A> adopt(
      ElementType<A> type, NativeHandle memory, MapMode mode, Runnable release);

  /**
   * Returns a HOST buffer over a file, whose mapped bytes are the host's copy. READ refuses writes
   * with an {@link UnsupportedOperationException}; the other modes write through to the file. What
   * a device computed is in the file when {@link UnifiedBuffer#close()} returns.
   *
   * @throws IllegalArgumentException if the file is no whole number of elements
   * @throws TransferException if it cannot be opened or mapped
   */
  <A> UnifiedBuffer<A> map(Path file, ElementType<A> type, MapMode mode);

  /**
   * Like {@link #map(Path, ElementType, MapMode)}, with a tag for reports and {@link
   * #bytesByTag()}. Otherwise the tag is the file's name.
   *
   * @throws IllegalArgumentException as there
   * @throws TransferException as there
   */
  <A> UnifiedBuffer<A> map(Path file, ElementType<A> type, MapMode mode, String tag);

  /**
   * Returns a HOST buffer of zeros that other processes of this user reach by its name, without a
   * copy, until every one of them has closed it; then its memory goes back. Its memory is taken
   * now. Its tag is the name. After the last close the name may stay in use for a moment, while the
   * library deletes the file.
   *
   * <p>What one writes the others see at once: {@link UnifiedBuffer#asSegment()} and its memory
   * access modes order it. A copy on a device with memory of its own is this process's alone.
   *
   * @param name 1 to 128 of the letters a to z and A to Z, digits, {@code .}, {@code _} and {@code
   *     -}, without {@code ..}
   * @throws IllegalArgumentException if it is no such name, or {@code length} is negative
   * @throws OutOfDeviceMemoryException if there is no room in {@link
   *     MemoryOptions#sharedDirectory()}
   * @throws TransferException if the name is in use (then its cause is a {@link
   *     java.nio.file.FileAlreadyExistsException}), or the folder is not this user's alone
   */
  default <A> UnifiedBuffer<A> createShared(ElementType<A> type, long length, String name) {
    return createShared(type, length, name, MemoryLocation.HOST);
  }

  /**
   * Returns a HOST buffer over elements that a process created by {@link #createShared} and at
   * least one process still uses.
   *
   * @throws IllegalArgumentException if the name cannot be one, or it was created with another type
   * @throws TransferException if no process uses the name (then its cause is a {@link
   *     java.nio.file.NoSuchFileException}), or what is there is damaged, not this user's alone, or
   *     of another version of this library
   */
  default <A> UnifiedBuffer<A> openShared(ElementType<A> type, String name) {
    return openShared(type, name, MemoryLocation.HOST);
  }

  /**
   * Like {@link #createShared(ElementType, long, String)}, which is HOST, but at a location. A
   * DEVICE buffer is memory of this manager's accelerator, of zeros. Processes that use the same
   * hardware reach it by the name, without a copy, until every one of them has closed it or has
   * ended in any way. Where the driver has only handles of plain memory, the memory ends with the
   * process that created it, if that is earlier. On an accelerator that shares the host's memory it
   * is a HOST buffer.
   *
   * <p>A DEVICE buffer that is shared has no host view, which would not know what others write:
   * views, mappings and {@link UnifiedBuffer#synchronize()} are an {@link
   * UnsupportedOperationException}. Copies and kernels see what work of other processes has written
   * once that work has ended.
   *
   * @param name as there, of at most 121 characters
   * @throws IllegalArgumentException also if the location is PINNED or UNIFIED
   * @throws OutOfDeviceMemoryException if there is no room on the device
   * @throws UnsupportedOperationException if the accelerator cannot share its memory
   */
  <A> UnifiedBuffer<A> createShared(
      ElementType<A> type, long length, String name, MemoryLocation location);

  /**
   * Returns a buffer over elements that a process created with the same location and at least one
   * process still uses.
   *
   * @throws IllegalArgumentException also if it is memory of another device
   * @throws TransferException also if no process that has it answers within seconds
   * @throws UnsupportedOperationException if the accelerator cannot share its memory
   */
  <A> UnifiedBuffer<A> openShared(ElementType<A> type, String name, MemoryLocation location);

  /**
   * {@link #createShared(ElementType, long, String, MemoryLocation)} on a thread of the library's;
   * cancelling the future closes the buffer.
   */
  <A> CompletableFuture<UnifiedBuffer<A>> createSharedAsync(
      ElementType<A> type, long length, String name, MemoryLocation location);

  /**
   * {@link #openShared(ElementType, String, MemoryLocation)} on a thread of the library's;
   * cancelling the future closes the buffer.
   */
  <A> CompletableFuture<UnifiedBuffer<A>> openSharedAsync(
      ElementType<A> type, String name, MemoryLocation location);

  /**
   * Returns the pool of arrays of a type on the Java heap. Their bytes count in this manager's
   * {@link #statistics()}. Idle arrays are dropped by {@link #trimExcess()} and by age, as blocks
   * are. {@link MemoryOptions#maxPoolBytes()} bounds the idle arrays of all types together; where
   * it is -1, the bound is a quarter of the heap's maximum or 4 GiB, the smaller. With {@link
   * MemoryOptions#zeroOnRelease()} arrays are cleared when they come back. A pool closes with the
   * manager. If it was closed earlier, the next call opens another.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  <A> ArrayPool<A> arrays(ElementType<A> type);

  /**
   * Returns a kernel for this accelerator. What can be checked without arguments is checked now;
   * machine code is made at the first call with given types and kept.
   *
   * @throws KernelCompilationException if the source is wrong; an {@link
   *     UnsupportedKernelException} if it is right, but needs what the accelerator lacks
   * @throws UnsupportedOperationException if the accelerator does not run such sources
   */
  Kernel compile(KernelSource source);

  /** {@link #compile(KernelSource)} in the background; a cancelled future closes its kernel. */
  CompletableFuture<Kernel> compileAsync(KernelSource source);

  /**
   * Compiles the first of several sources that this accelerator runs, such as OpenCL C and CUDA C++
   * for the same purpose.
   *
   * @throws KernelCompilationException if a source is wrong; those behind it are not tried then
   * @throws UnsupportedOperationException if the accelerator runs none of them; the message says
   *     for each why not
   */
  default Kernel compile(KernelSource first, KernelSource... others) {
    List<KernelSource> sources = new ArrayList<>(List.of(others));
    sources.addFirst(first);
    List<RuntimeException> refused = new ArrayList<>();
    for (KernelSource source : sources) {
      try {
        return compile(source);
      } catch (UnsupportedOperationException | UnsupportedKernelException e) {
        refused.add(e);
      }
    }
    String reasons = refused.stream().map(e -> "\n  " + e.getMessage()).collect(joining());
    UnsupportedOperationException none =
        new UnsupportedOperationException(
            accelerator().id() + " runs none of the sources:" + reasons, refused.removeFirst());
    refused.forEach(none::addSuppressed);
    throw none;
  }

  /** Returns the figures now. */
  MemoryStatistics statistics();

  /**
   * Returns the pools of blocks that buffers of this manager come from, by size class too. The pool
   * of plain host memory is shared by the managers of a {@link Tidepool} whose options are the
   * same, and counts for all of them; pools of arrays have {@linkplain ArrayPool#statistics() their
   * own figures}.
   */
  List<PoolStatistics> pools();

  /**
   * Live bytes by owner, largest first. The owner of a buffer is its tag; untagged buffers and
   * rented arrays have the empty one. While no thread allocates or frees, the sum is {@link
   * MemoryStatistics#totalAllocated()}. Looks at every live buffer: some microseconds, more with
   * many.
   */
  Map<String, Long> bytesByTag();

  /**
   * Opens a scope that tells the peak of this manager's live bytes from now on; close it, best with
   * {@code try}.
   *
   * @param name what it is for, in its text
   */
  PeakScope pushPeak(String name);

  /**
   * Checks whether bytes beside a live buffer were written, and returns where. Changes nothing.
   * Each close of a buffer does the same check and reports what it finds. Waits for work that was
   * asked for on each buffer.
   *
   * @return the damages, none if all is well
   * @throws IllegalStateException below the level {@link DiagnosticsLevel#PARANOID}, where buffers
   *     have no guard zones
   */
  List<GuardReport> checkGuards();

  /** {@link #checkGuards} in the background. */
  CompletableFuture<List<GuardReport>> checkGuardsAsync();

  /** Returns a snapshot of the buffers that live now. */
  List<BufferInfo> buffers();

  /**
   * Every block that the pools have now, its owner, and the recent history. Stops no other thread;
   * takes some tens of milliseconds with a hundred thousand blocks.
   */
  Snapshot snapshot();

  /** {@link #snapshot} in the background. */
  CompletableFuture<Snapshot> snapshotAsync();

  /** Gives idle pooled blocks back to the driver; returns how many bytes. */
  long trimExcess();

  /** {@link #trimExcess()} in the background. */
  CompletableFuture<Long> trimExcessAsync();

  /** How scattered the device memory is; takes some microseconds, more with many buffers. */
  Fragmentation fragmentation();

  /**
   * Moves small buffers of the device's memory together, by copies on the device, and gives back
   * the driver's blocks that become idle by that. Buffers that are in use, mapped, or exposed by
   * {@link UnifiedBuffer#asSegment()} where host and device share the memory stay where they are.
   * Allocations do not wait for it; an operation on a buffer that is being moved waits for that
   * buffer's copy. Done by itself when memory runs out, and every {@code defragment-interval} while
   * memory is scattered.
   */
  Defragmentation defragment();

  /**
   * {@link #defragment()} on a thread of the library's. Cancelling the future stops what has not
   * started.
   */
  CompletableFuture<Defragmentation> defragmentAsync();

  /** Like {@link #reserve(String, long, Duration)}, without a name. */
  default Reservation reserve(long bytes, Duration timeout) {
    return reserve("", bytes, timeout);
  }

  /**
   * Reserves memory of the device for one job; see {@link Reservation}. Memory is freed as for a
   * buffer: idle blocks go, and idle buffers without a reservation are moved off the device. If
   * that is not enough, the caller waits until others close reservations and buffers. Requests to
   * all managers of the {@link Tidepool} on this device are served in the order in which they were
   * made.
   *
   * <p>Other requests of the {@link Tidepool} do not get what is reserved and unused: for them the
   * device's memory is that much smaller. The whole reservation counts in this manager's {@code
   * memory-limit}. Other processes are not held back. While there are reservations, each request
   * that no pool can serve asks the driver how much is free.
   *
   * <p>The wait is not interruptible; an interrupt stays set.
   *
   * @param name what messages call it; may be empty
   * @param bytes how many, at least 1
   * @param timeout the longest wait; zero for none
   * @throws IllegalArgumentException if {@code bytes} is less than 1, or {@code timeout} negative
   * @throws OutOfDeviceMemoryException if the wait took too long: the message lists the holders; or
   *     at once if the device, or the manager's limit, is smaller than that
   * @throws IllegalStateException if the manager is closed, before or during the wait
   */
  Reservation reserve(String name, long bytes, Duration timeout);

  /**
   * {@link #reserve(String, long, Duration)} in the background; a cancelled future closes its
   * reservation, or stops waiting for it.
   */
  CompletableFuture<Reservation> reserveAsync(String name, long bytes, Duration timeout);

  /** Returns the reservations of this manager that are open, the oldest first. */
  List<Reservation> reservations();

  /**
   * Gives the device's memory back while this program does not need it: for another process on the
   * same card, or before the machine sleeps. Each buffer that has memory of the device is moved to
   * the host, or to the {@code spill-directory} where the host has no room; idle blocks go back to
   * the driver. No contents are lost. A buffer comes back to the device by its next use there, or
   * by {@link #resume()}.
   *
   * {@snippet :
   * Suspension suspension = memory.suspend();
   * System.out.println(suspension.returnedBytes() + " bytes went back");
   * System.out.println("buffers that stay: " + suspension.leftBytes());
   * // Another program uses the device.
   * memory.resume();
   * }
   *
   * <p>On an accelerator that shares the host's memory, and for UNIFIED buffers, only the spill
   * file gives memory back. Buffers that cannot be moved stay, and {@link Suspension#leftBytes()}
   * counts them. Compiled kernels and queues stay too.
   *
   * <p>Waits, buffer by buffer, for the work that was asked for. The manager stays open for use by
   * all threads: what they use or allocate meanwhile is on the device again. An interrupt stays
   * set.
   *
   * @throws IllegalStateException if the manager is closed, or the calling thread computes the body
   *     of a kernel that would have to end first
   */
  Suspension suspend();

  /** {@link #suspend()} in the background. */
  CompletableFuture<Suspension> suspendAsync();

  /**
   * Brings those buffers back to the device that {@link #suspend()} took away and no work has used
   * there since. Where the device has no room for all of them, the others come back by their next
   * use. So do buffers that are mapped, and those whose host memory was handed out as a segment: a
   * thread may be writing there.
   *
   * @return the bytes of the buffers that were brought back
   * @throws IllegalStateException if the manager is closed, or the calling thread computes the body
   *     of a kernel that would have to end first
   * @throws TransferException if bytes could not be moved; they stay where they are
   */
  long resume();

  /** {@link #resume()} in the background. */
  CompletableFuture<Long> resumeAsync();

  /** Returns the limit now; empty if the manager was made without one. */
  OptionalLong limit();

  /**
   * Changes {@link MemoryOptions#memoryLimit()} of this manager. Idle pooled blocks are given back
   * if they are in the way. Takes effect at once, also for requests that wait for memory: a higher
   * limit may let them go on, and a reservation that the limit can never hold fails. Allocations
   * that were refused before are not tried again. Pools keep no more idle bytes than the limit that
   * the manager was made with: to change it often, make the manager with the largest.
   *
   * @param bytes the new limit
   * @throws IllegalArgumentException if more is in use, or {@code bytes} is less than 1; the limit
   *     stays what it was
   * @throws IllegalStateException if the manager was made without a limit
   */
  void limit(long bytes);

  /**
   * Waits until all work asked for so far is done, and until the memory of buffers that were closed
   * has gone back; failed work does not throw here. Then the memory under all buffers that is not
   * theirs alone ({@linkplain #wrap wrapped}, {@linkplain #adopt adopted}, {@linkplain #map mapped}
   * from files, {@linkplain #createShared shared}) has the newest bytes.
   *
   * @throws TransferException if such bytes could not be brought back; they stay where they are. Of
   *     several failures the others are suppressed
   */
  void synchronize();

  /**
   * {@link #synchronize()} on a thread of the library's: the future completes when all work that
   * was asked for before this call is done, and fails as that method does.
   */
  CompletableFuture<Void> synchronizeAsync();

  /**
   * Lends buffers to native code, as a kernel launch uses them: the bytes that it reads are brought
   * to the device, and their memory stays where it is until the access is closed and the work that
   * was submitted to {@link NativeAccess#queue()} has ended. That queue comes after earlier work on
   * the buffers; the calling thread does not wait for kernels that the device orders. For a {@link
   * NativeKind#HOST_POINTER} it does, and native code has finished when it closes the access. On
   * {@code cpu:0} all handles are of that kind. All buffers are lent, or none.
   *
   * <p>While buffers are lent, work that conflicts is refused: on one that native code writes all
   * other work, on one that it only reads whatever writes it. Closing such a buffer frees it when
   * the access is closed and its work has ended. An access that becomes unreachable is closed, and
   * reported.
   *
   * <p>What native code does with the memory is not checked. A segment or address that it uses
   * after the access is closed and its work has ended may end the virtual machine.
   *
   * @param uses the buffers of this manager, each once, and what native code does with them
   * @throws IllegalArgumentException if a buffer belongs to another manager or is named twice, or
   *     none is named, or the kind of handle that was asked for needs another alignment
   * @throws IllegalStateException if a buffer is closed, mapped, or lent already, such that the two
   *     conflict
   * @throws OutOfDeviceMemoryException if there is no room on the device
   * @throws UnsupportedOperationException if the accelerator has no handle of the kind that was
   *     asked for, or a buffer that is to be written is mapped from a file for reading
   * @throws TransferException if bytes could not be brought to the device
   */
  NativeAccess lend(NativeUse... uses);

  /**
   * {@link #lend} on a thread of the library's, which may wait for transfers. Work that is asked
   * for before the future completes comes before or after the native code's. If the future is
   * cancelled, an access that is made nevertheless is closed.
   */
  CompletableFuture<NativeAccess> lendAsync(NativeUse... uses);

  /**
   * Lends buffers to native code that has a queue of its own: what it submits there after this call
   * comes after earlier work on the buffers, and later work on them after what it has submitted
   * before it closes the access. A queue that runs commands out of order may be used.
   *
   * @param queue a {@code CUstream} of the accelerator's context, but none of CUDA's default
   *     streams 0, 1 and 2, or a {@code cl_command_queue} of its context and device. It must live
   *     until the access is closed
   * @param uses as for {@link #lend}
   * @throws IllegalArgumentException also if the queue is of another context or device
   * @throws UnsupportedOperationException also if the accelerator has no queues
   */
  NativeAccess lendOn(long queue, NativeUse... uses);

  /** {@link #lendOn} as {@link #lendAsync} does it. */
  CompletableFuture<NativeAccess> lendOnAsync(long queue, NativeUse... uses);

  /** Returns what moves bytes between buffers. */
  TransferEngine transfers();

  /**
   * Ends the manager: waits for work that runs, frees every buffer that is still open and reports
   * how many there were. An operation that another thread has begun succeeds, or fails because the
   * manager is closed; no call of a driver is under way when this returns. A thread that calls this
   * while another closes waits for it. Idempotent; throws nothing.
   */
  @Override
  void close();
}
