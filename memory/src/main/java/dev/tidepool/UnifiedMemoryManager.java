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
 * Allocates buffers on one accelerator, pools their memory, and keeps statistics.
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
 * <p>Thread-safe. Every method of a closed manager except {@link #close()}, {@link #accelerator()},
 * {@link #limit()} and {@link #statistics()} throws {@link IllegalStateException}.
 */
public interface UnifiedMemoryManager extends AutoCloseable {
  /**
   * Returns a manager on the {@linkplain Tidepool best} accelerator. Closing the manager closes all
   * that was opened for it. Drivers that offer only this machine's processor are not loaded.
   */
  static UnifiedMemoryManager create() {
    return create(MemoryOptions.defaults());
  }

  /** Like {@link #create()}, with options. */
  static UnifiedMemoryManager create(MemoryOptions options) {
    return create("auto", options);
  }

  /**
   * Returns a manager on one accelerator. Closing the manager closes all that was opened for it.
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

  /** Like {@link #create(String)}, with options. */
  static UnifiedMemoryManager create(String accelerator, MemoryOptions options) {
    return TidepoolRuntime.installed().createManager(accelerator, options);
  }

  /**
   * Returns a manager on the {@linkplain Tidepool best} accelerator that satisfies a condition.
   * Closing the manager closes all that was opened for it.
   *
   * {@snippet :
   * UnifiedMemoryManager memory =
   *     UnifiedMemoryManager.create(
   *         each -> each.capabilities().contains(Capability.FLOAT64), MemoryOptions.defaults());
   * }
   *
   * @param condition tested on any accelerator of this machine; all drivers are loaded
   * @throws IllegalArgumentException if there is none; the message lists those that exist
   */
  static UnifiedMemoryManager create(
      Predicate<? super Accelerator> condition, MemoryOptions options) {
    return TidepoolRuntime.installed().createManager(condition, options);
  }

  /**
   * Returns an additional manager on an accelerator of an open {@link Tidepool}, with its own
   * pools. The manager is closed with that Tidepool at the latest.
   *
   * <p>All managers of a Tidepool share {@code pinned-limit}, {@code peer-access}, {@code
   * managed-memory}, {@code zero-copy-buffers}, {@code concurrent-transfers} and {@code trace},
   * which are set by {@link Tidepool#open(MemoryOptions)}. Options left at their defaults here have
   * the Tidepool's values.
   *
   * @throws IllegalArgumentException if the options set one of these to a value that differs from
   *     the Tidepool's
   */
  static UnifiedMemoryManager create(Accelerator accelerator, MemoryOptions options) {
    return TidepoolRuntime.installed().createManager(accelerator, options);
  }

  /** Returns the accelerator that has the buffers' device copies. */
  Accelerator accelerator();

  /**
   * Allocates a buffer in the device's memory. Its memory is pooled, and its contents are
   * undefined.
   *
   * @throws IllegalArgumentException if {@code length} is negative or its bytes exceed 64 bits
   * @throws OutOfDeviceMemoryException if there is no room after everything that can be freed was
   *     freed, or if the buffer is larger than the device allows; the message names that maximum
   */
  default <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length) {
    return allocate(type, length, MemoryLocation.DEVICE);
  }

  /** Allocates a buffer at a location. Its memory is pooled, and its contents are undefined. */
  default <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length, MemoryLocation location) {
    return allocate(type, length, Allocation.at(location));
  }

  /** Allocates a buffer with the given options. */
  <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length, Allocation allocation);

  /**
   * Like {@link #allocate(ElementType, long)}, in the background. If the future is cancelled, the
   * buffer is freed.
   */
  default <A> CompletableFuture<UnifiedBuffer<A>> allocateAsync(ElementType<A> type, long length) {
    return allocateAsync(type, length, Allocation.at(MemoryLocation.DEVICE));
  }

  /** Allocates a buffer in the background. If the future is cancelled, the buffer is freed. */
  <A> CompletableFuture<UnifiedBuffer<A>> allocateAsync(
      ElementType<A> type, long length, Allocation allocation);

  /** Allocates records as a struct of arrays, in DEVICE buffers with undefined contents. */
  default <R extends Record> StructOfArrays<R> allocateStructOfArrays(
      Class<R> recordType, long length) {
    return allocateStructOfArrays(
        ElementType.struct(recordType), length, Allocation.at(MemoryLocation.DEVICE));
  }

  /**
   * Allocates records as a struct of arrays: one buffer for each component, each with the given
   * options. Either all buffers are allocated or none.
   *
   * @param structType a type that {@link ElementType#struct(Class)}, or its form with a lookup,
   *     returned
   * @throws IllegalArgumentException if the elements are not records, or {@code length} is negative
   * @throws OutOfDeviceMemoryException if there is no room for one of the buffers
   */
  <R extends Record> StructOfArrays<R> allocateStructOfArrays(
      ElementType<R[]> structType, long length, Allocation allocation);

  /**
   * Like {@link #allocateStructOfArrays(ElementType, long, Allocation)}, in the background. If the
   * future is cancelled, the buffers are freed.
   */
  <R extends Record> CompletableFuture<StructOfArrays<R>> allocateStructOfArraysAsync(
      ElementType<R[]> structType, long length, Allocation allocation);

  /**
   * Allocates a DEVICE buffer and copies an array to it.
   *
   * @throws IllegalArgumentException if {@code array} is not an array of primitives (other than
   *     {@code char}). For records, allocate a buffer of their {@link ElementType#struct type}
   */
  default <A> UnifiedBuffer<A> copyOf(A array) {
    return copyOf(array, Allocation.at(MemoryLocation.DEVICE));
  }

  /**
   * Allocates a buffer with the given options and copies an array to it.
   *
   * {@snippet :
   * Allocation tagged = Allocation.at(MemoryLocation.DEVICE).tag("weights");
   * UnifiedBuffer<float[]> weights = memory.copyOf(new float[] {1, 2, 3}, tagged);
   * }
   *
   * @throws IllegalArgumentException as {@link #copyOf(Object)}
   */
  <A> UnifiedBuffer<A> copyOf(A array, Allocation allocation);

  /**
   * Like {@link #copyOf(Object)}, in the background. Do not change the array until the future has
   * completed.
   */
  default <A> CompletableFuture<UnifiedBuffer<A>> copyOfAsync(A array) {
    return copyOfAsync(array, Allocation.at(MemoryLocation.DEVICE));
  }

  /**
   * Like {@link #copyOf(Object, Allocation)}, in the background. Do not change the array until the
   * future has completed. If the future is cancelled, the buffer is closed.
   */
  <A> CompletableFuture<UnifiedBuffer<A>> copyOfAsync(A array, Allocation allocation);

  /**
   * Rejects a single number. Pass a number to a kernel directly, or put it into an array of one
   * element. The compiler selects this overload for numbers. Because it returns nothing, a program
   * that expects a buffer does not compile.
   *
   * @throws IllegalArgumentException always
   */
  default void copyOf(double number) {
    copyOf(number, Allocation.at(MemoryLocation.DEVICE));
  }

  /**
   * Rejects a single number, as {@link #copyOf(double)} does.
   *
   * @throws IllegalArgumentException always
   */
  default void copyOf(double number, Allocation allocation) {
    throw new IllegalArgumentException(
        "copyOf takes arrays of primitives, not one number; pass a number to a kernel as it is, or"
            + " put it into an array of one element");
  }

  /**
   * Rejects arrays of objects. For rows, {@link #allocate allocate} one buffer for all of them, and
   * copy each row to its {@linkplain UnifiedBuffer#slice slice}. For records, allocate a buffer of
   * their {@linkplain ElementType#struct type}, and copy the array to it. The compiler selects this
   * overload for such arrays. Because it returns nothing, a program that expects a buffer does not
   * compile.
   *
   * @throws IllegalArgumentException always
   */
  default void copyOf(Object[] rowsOrRecords) {
    copyOf(rowsOrRecords, Allocation.at(MemoryLocation.DEVICE));
  }

  /**
   * Rejects arrays of objects, as {@link #copyOf(Object[])} does.
   *
   * @throws IllegalArgumentException always
   */
  default void copyOf(Object[] rowsOrRecords, Allocation allocation) {
    Object array = rowsOrRecords;
    copyOf(array, allocation).close();
  }

  /**
   * Returns a HOST buffer over memory of the caller, who still owns it. The memory is the host's
   * copy of the buffer. Kernels of the CPU compute in it. Every other accelerator works on a copy
   * in its own memory, and {@link UnifiedBuffer#close()} copies newer bytes back. The arena must
   * stay open until then: if it is closed first, the device's results are lost, and the loss is
   * reported.
   *
   * <p>Two buffers over the same memory are not kept coherent: each has its own copies and its own
   * order of operations. Use one buffer and slices of it.
   *
   * @throws IllegalArgumentException if the segment is on the heap, belongs to one thread, is
   *     read-only, or is not a whole number of elements
   */
  <A> UnifiedBuffer<A> wrap(ElementType<A> type, MemorySegment memory);

  /**
   * Like {@link #wrap(ElementType, MemorySegment)}, but at a location instead of HOST. The memory
   * of a PINNED buffer is page-locked in place, so that transfers need no staging. Closing its
   * arena before the buffer throws {@link IllegalStateException}. Locking takes as long as touching
   * all of the memory, and occupies a thread until the buffer is closed, so use it for long-lived
   * buffers. If the accelerator or the option {@code pinned-limit} refuses, the memory is not
   * locked, and {@link MemoryStatistics#pinnedFallbacks()} counts it. Memory that may be mapped
   * from a file is not locked either, because a driver would end the process if the file were
   * truncated. Only Linux reports which memory has no file; on other systems no memory of the
   * caller is locked.
   *
   * @throws IllegalArgumentException also if the location is DEVICE or UNIFIED
   */
  <A> UnifiedBuffer<A> wrap(ElementType<A> type, MemorySegment memory, MemoryLocation location);

  /**
   * Like {@link #wrap(ElementType, MemorySegment, MemoryLocation)}, with a tag for reports and
   * {@link #bytesByTag()}. The default tag is {@code wrapped}.
   *
   * @throws IllegalArgumentException as {@link #wrap(ElementType, MemorySegment, MemoryLocation)}
   */
  <A> UnifiedBuffer<A> wrap(
      ElementType<A> type, MemorySegment memory, MemoryLocation location, String tag);

  /**
   * Returns a buffer that owns memory of another library: {@code release} runs once, after the last
   * use of the memory, to free it. Nothing is copied.
   *
   * {@snippet :
   * NativeHandle handle = NativeHandle.of(memoryOfALibrary);
   * UnifiedBuffer<float[]> buffer =
   *     memory.adopt(ElementType.FLOAT, handle, () -> library.release(memoryOfALibrary));
   * }
   *
   * <p>Memory of the host (a {@link NativeKind#HOST_POINTER}) makes a HOST buffer. Kernels of the
   * CPU compute in it; every other accelerator works on a copy in its own memory. Memory of the
   * device makes a DEVICE buffer: kernels compute in it, and the host has a copy if it needs one.
   * The memory must belong to this manager's device and context, which {@link
   * NativeAccess#context()} returns. Adopted memory does not move, and does not count against
   * limits. {@link UnifiedBuffer#close()} copies newer bytes back before {@code release} runs. The
   * other library must have finished its own work on the memory before the call.
   *
   * <p>The driver checks memory of a device. It cannot check that a {@code cl_mem} is one, and
   * OpenCL does not report the size of shared virtual memory. Addresses of the host cannot be
   * checked: the caller must keep the memory valid until {@code release} runs.
   *
   * <p>{@code release} runs when the buffer is closed and its operations have ended, when the
   * manager closes, or after the buffer became unreachable. The closing thread runs it, or a thread
   * of the library for which nothing waits. Therefore {@code release} must not refer to the buffer,
   * which would stay reachable, and must not wait for operations of this manager. Exceptions of
   * {@code release} are logged. A segment of {@link UnifiedBuffer#asSegment()} over memory of the
   * host becomes invalid before {@code release} runs: later access throws {@link
   * IllegalStateException}. While a native call uses the segment, {@code release} waits for the end
   * of the call, on another thread.
   *
   * @param memory memory that is aligned for an element
   * @throws IllegalArgumentException if the address is null, negative or not aligned, the size is
   *     not a whole number of elements, or the kind, device or context is not that of this
   *     manager's device. If this method throws, {@code release} never runs: the caller still owns
   *     the memory
   */
  default <A> UnifiedBuffer<A> adopt(ElementType<A> type, NativeHandle memory, Runnable release) {
    return adopt(type, memory, MapMode.READ_WRITE, release);
  }

  /**
   * Like {@link #adopt(ElementType, NativeHandle, Runnable)}, with a mode. In READ, writes throw
   * {@link UnsupportedOperationException}; the other modes allow them.
   *
   * @throws IllegalArgumentException as {@link #adopt(ElementType, NativeHandle, Runnable)}
   */
  <A> UnifiedBuffer<A> adopt(
      ElementType<A> type, NativeHandle memory, MapMode mode, Runnable release);

  /**
   * Returns a HOST buffer over a file, whose mapped bytes are the host's copy. In READ, writes
   * throw {@link UnsupportedOperationException}; the other modes write through to the file. The
   * results of a device are in the file when {@link UnifiedBuffer#close()} returns.
   *
   * @throws IllegalArgumentException if the file's size is not a whole number of elements
   * @throws TransferException if the file cannot be opened or mapped
   */
  <A> UnifiedBuffer<A> map(Path file, ElementType<A> type, MapMode mode);

  /**
   * Like {@link #map(Path, ElementType, MapMode)}, with a tag for reports and {@link
   * #bytesByTag()}. The default tag is the file's name.
   *
   * @throws IllegalArgumentException as {@link #map(Path, ElementType, MapMode)}
   * @throws TransferException as {@link #map(Path, ElementType, MapMode)}
   */
  <A> UnifiedBuffer<A> map(Path file, ElementType<A> type, MapMode mode, String tag);

  /**
   * Creates a HOST buffer of zeros that other processes of this user open by its name, without a
   * copy. Its memory is taken now, and freed when every process has closed the buffer. Its tag is
   * the name. After the last close the name may stay in use for a moment, while the library deletes
   * the file.
   *
   * <p>Other processes see a write at once; order writes with the memory access modes of {@link
   * UnifiedBuffer#asSegment()}. A copy on a device with its own memory is not shared.
   *
   * @param name 1 to 128 of the letters a to z and A to Z, digits, {@code .}, {@code _} and {@code
   *     -}, without {@code ..}
   * @throws IllegalArgumentException if the name is not valid, or {@code length} is negative
   * @throws OutOfDeviceMemoryException if there is no room in {@link
   *     MemoryOptions#sharedDirectory()}
   * @throws TransferException if the name is in use (the cause is a {@link
   *     java.nio.file.FileAlreadyExistsException}), or the folder does not belong to this user
   *     alone
   */
  default <A> UnifiedBuffer<A> createShared(ElementType<A> type, long length, String name) {
    return createShared(type, length, name, MemoryLocation.HOST);
  }

  /**
   * Opens a HOST buffer that a process created by {@link #createShared} and that at least one
   * process still uses.
   *
   * @throws IllegalArgumentException if the name is not valid, or the buffer was created with
   *     another type
   * @throws TransferException if no process uses the name (the cause is a {@link
   *     java.nio.file.NoSuchFileException}), or the file is damaged, does not belong to this user
   *     alone, or was written by another version of this library
   */
  default <A> UnifiedBuffer<A> openShared(ElementType<A> type, String name) {
    return openShared(type, name, MemoryLocation.HOST);
  }

  /**
   * Like {@link #createShared(ElementType, long, String)}, but at a location instead of HOST. A
   * DEVICE buffer is in the memory of this manager's accelerator. Processes that use the same
   * hardware open it by the name, without a copy, until every one of them has closed it or has
   * ended in any way. If the driver can share only plain memory, the memory also ends with the
   * process that created it. On an accelerator that shares the host's memory the result is a HOST
   * buffer.
   *
   * <p>A shared DEVICE buffer has no host copy, because other processes' writes would not reach it:
   * views, mappings and {@link UnifiedBuffer#synchronize()} throw {@link
   * UnsupportedOperationException}. Copies and kernels see the writes of other processes'
   * operations once these have ended.
   *
   * @param name as for {@link #createShared(ElementType, long, String)}, of at most 121 characters
   * @throws IllegalArgumentException also if the location is PINNED or UNIFIED
   * @throws OutOfDeviceMemoryException if there is no room on the device
   * @throws UnsupportedOperationException if the accelerator cannot share its memory
   */
  <A> UnifiedBuffer<A> createShared(
      ElementType<A> type, long length, String name, MemoryLocation location);

  /**
   * Opens a buffer that a process created with the same location and that at least one process
   * still uses.
   *
   * @throws IllegalArgumentException also if the memory is on another device
   * @throws TransferException also if no process that has the buffer open answers within seconds
   * @throws UnsupportedOperationException if the accelerator cannot share its memory
   */
  <A> UnifiedBuffer<A> openShared(ElementType<A> type, String name, MemoryLocation location);

  /**
   * Like {@link #createShared(ElementType, long, String, MemoryLocation)}, on a thread of the
   * library. If the future is cancelled, the buffer is closed.
   */
  <A> CompletableFuture<UnifiedBuffer<A>> createSharedAsync(
      ElementType<A> type, long length, String name, MemoryLocation location);

  /**
   * Like {@link #openShared(ElementType, String, MemoryLocation)}, on a thread of the library. If
   * the future is cancelled, the buffer is closed.
   */
  <A> CompletableFuture<UnifiedBuffer<A>> openSharedAsync(
      ElementType<A> type, String name, MemoryLocation location);

  /**
   * Returns the pool of arrays of a type on the Java heap. Their bytes count in this manager's
   * {@link #statistics()}. Like blocks, idle arrays are dropped by {@link #trimExcess()} and by
   * age. {@link MemoryOptions#maxPoolBytes()} bounds the idle arrays of all types together; -1
   * stands for a quarter of the heap's maximum or 4 GiB, whichever is less. With {@link
   * MemoryOptions#zeroOnRelease()} arrays are cleared when they are returned. A pool is closed with
   * the manager. If it was closed earlier, the next call opens another.
   *
   * @throws IllegalArgumentException if the elements are records
   */
  <A> ArrayPool<A> arrays(ElementType<A> type);

  /**
   * Compiles a kernel for this accelerator. The source is checked now, as far as that is possible
   * without arguments. Machine code for given argument types is generated at the first call with
   * these types, and kept.
   *
   * @throws KernelCompilationException if the source is wrong; its subclass {@link
   *     UnsupportedKernelException} if the source is correct, but needs something that the
   *     accelerator lacks
   * @throws UnsupportedOperationException if the accelerator does not run such sources
   */
  Kernel compile(KernelSource source);

  /**
   * Like {@link #compile(KernelSource)}, in the background. If the future is cancelled, the kernel
   * is closed.
   */
  CompletableFuture<Kernel> compileAsync(KernelSource source);

  /**
   * Compiles the first of several sources that this accelerator runs, such as OpenCL C and CUDA C++
   * for the same purpose.
   *
   * @throws KernelCompilationException if a source is wrong; the sources after it are not tried
   * @throws UnsupportedOperationException if the accelerator runs none of them; the message gives
   *     the reason for each
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

  /** Returns the current statistics. */
  MemoryStatistics statistics();

  /**
   * Returns statistics of the pools that this manager's buffers take their blocks from, with their
   * size classes. Managers of a {@link Tidepool} with the same options share the pool of plain host
   * memory, and its figures cover all of them. Pools of arrays have {@linkplain
   * ArrayPool#statistics() their own figures}.
   */
  List<PoolStatistics> pools();

  /**
   * Returns the live bytes of each tag, the largest first. Untagged buffers and rented arrays have
   * the empty tag. While no thread allocates or frees, the sum is {@link
   * MemoryStatistics#totalAllocated()}. Visits every live buffer: takes some microseconds, more
   * with many buffers.
   */
  Map<String, Long> bytesByTag();

  /**
   * Opens a scope that measures the peak of this manager's live bytes from now on. Close it, best
   * with {@code try}.
   *
   * @param name the name of the scope in its text
   */
  PeakScope pushPeak(String name);

  /**
   * Checks whether the guard zones beside live buffers were overwritten, and returns where. Changes
   * nothing. Waits for the requested operations on each buffer. Closing a buffer makes the same
   * check and reports damage.
   *
   * @return the damage that was found; empty if there is none
   * @throws IllegalStateException below the level {@link DiagnosticsLevel#PARANOID}, where buffers
   *     have no guard zones
   */
  List<GuardReport> checkGuards();

  /** Like {@link #checkGuards}, in the background. */
  CompletableFuture<List<GuardReport>> checkGuardsAsync();

  /** Returns a snapshot of the buffers that live now. */
  List<BufferInfo> buffers();

  /**
   * Returns every block that the pools have now, with its owner, and the recent history. Stops no
   * other thread. Takes some tens of milliseconds with a hundred thousand blocks.
   */
  Snapshot snapshot();

  /** Like {@link #snapshot}, in the background. */
  CompletableFuture<Snapshot> snapshotAsync();

  /** Frees idle pooled blocks, and returns how many bytes were freed. */
  long trimExcess();

  /** Like {@link #trimExcess()}, in the background. */
  CompletableFuture<Long> trimExcessAsync();

  /** Returns how fragmented device memory is. Takes some microseconds, more with many buffers. */
  Fragmentation fragmentation();

  /**
   * Moves small buffers of the device's memory together, by copies on the device, and frees the
   * driver's blocks that become idle. Buffers that are in use, mapped, or exposed by {@link
   * UnifiedBuffer#asSegment()} where host and device share the memory stay where they are.
   * Allocations do not wait for this; an operation on a buffer that is being moved waits for that
   * buffer's copy. The library does the same when memory runs out, and every {@code
   * defragment-interval} while memory is fragmented.
   */
  Defragmentation defragment();

  /**
   * Like {@link #defragment()}, on a thread of the library. Cancelling the future stops the moves
   * that have not started.
   */
  CompletableFuture<Defragmentation> defragmentAsync();

  /** Like {@link #reserve(String, long, Duration)}, without a name. */
  default Reservation reserve(long bytes, Duration timeout) {
    return reserve("", bytes, timeout);
  }

  /**
   * Reserves memory of the device for one job; see {@link Reservation}. Memory is freed as for a
   * buffer: idle blocks are freed, and idle buffers without a reservation are moved off the device.
   * If that is not enough, this method waits until other threads close reservations and buffers.
   * Requests to all managers of the {@link Tidepool} on this device are served in the order in
   * which they were made.
   *
   * <p>Other requests of the {@link Tidepool} do not get reserved, unused bytes: the device's
   * memory is that much smaller for them. The whole reservation counts in this manager's {@code
   * memory-limit}. Other processes are not restricted. While there are reservations, each request
   * that no pool can serve queries the driver for the free memory.
   *
   * <p>The wait is not interruptible; an interrupt stays set.
   *
   * @param name the name in messages; may be empty
   * @param bytes the bytes to reserve, at least 1
   * @param timeout the longest wait; zero for no wait
   * @throws IllegalArgumentException if {@code bytes} is less than 1, or {@code timeout} negative
   * @throws OutOfDeviceMemoryException if the wait took too long; the message lists the holders. At
   *     once if the device, or the manager's limit, is smaller than {@code bytes}
   * @throws IllegalStateException if the manager is closed, before or during the wait
   */
  Reservation reserve(String name, long bytes, Duration timeout);

  /**
   * Like {@link #reserve(String, long, Duration)}, in the background. If the future is cancelled,
   * the reservation is closed, or the wait for it ends.
   */
  CompletableFuture<Reservation> reserveAsync(String name, long bytes, Duration timeout);

  /** Returns the open reservations of this manager, the oldest first. */
  List<Reservation> reservations();

  /**
   * Frees the device's memory while this program does not need it: for another process on the same
   * card, or before the machine sleeps. Each buffer in the device's memory is moved to the host, or
   * to the {@code spill-directory} if the host has no room; idle blocks are freed. No contents are
   * lost. A buffer returns to the device at its next use there, or by {@link #resume()}.
   *
   * {@snippet :
   * Suspension suspension = memory.suspend();
   * System.out.println(suspension.returnedBytes() + " bytes went back");
   * System.out.println("buffers that stay: " + suspension.leftBytes());
   * // Another program uses the device.
   * memory.resume();
   * }
   *
   * <p>On an accelerator that shares the host's memory, and for UNIFIED buffers, only spilling
   * frees memory. Buffers that cannot be moved stay, and {@link Suspension#leftBytes()} counts
   * them. Compiled kernels and queues stay too.
   *
   * <p>Waits, buffer by buffer, for the requested operations. The manager stays open: buffers that
   * other threads use or allocate meanwhile are on the device again. An interrupt stays set.
   *
   * @throws IllegalStateException if the manager is closed, or if the calling thread runs the body
   *     of a kernel that this method would wait for
   */
  Suspension suspend();

  /** Like {@link #suspend()}, in the background. */
  CompletableFuture<Suspension> suspendAsync();

  /**
   * Moves the buffers back to the device that {@link #suspend()} moved away and that no operation
   * has used there since. If the device has no room for all of them, the others return at their
   * next use. So do mapped buffers, and buffers whose host memory was exposed as a segment, because
   * a thread may be writing there.
   *
   * @return the bytes of the buffers that were moved back
   * @throws IllegalStateException if the manager is closed, or if the calling thread runs the body
   *     of a kernel that this method would wait for
   * @throws TransferException if bytes could not be moved; they stay where they are
   */
  long resume();

  /** Like {@link #resume()}, in the background. */
  CompletableFuture<Long> resumeAsync();

  /** Returns the current limit in bytes; empty if the manager was created without one. */
  OptionalLong limit();

  /**
   * Changes {@link MemoryOptions#memoryLimit()} of this manager. Idle pooled blocks are freed if
   * they exceed the new limit. The limit takes effect at once, also for waiting requests: a higher
   * limit may satisfy them, and a reservation that the limit can never hold fails. Allocations that
   * failed before are not retried. Pools never keep more idle bytes than the limit that the manager
   * was created with. To change the limit often, create the manager with the largest.
   *
   * @param bytes the new limit, at least 1
   * @throws IllegalArgumentException if more is in use, or {@code bytes} is less than 1; the limit
   *     is not changed
   * @throws IllegalStateException if the manager was created without a limit
   */
  void limit(long bytes);

  /**
   * Waits until all operations requested so far have ended, and until the memory of closed buffers
   * is freed. Failed operations do not throw here. Then external memory under buffers ({@linkplain
   * #wrap wrapped}, {@linkplain #adopt adopted}, {@linkplain #map mapped} from files, {@linkplain
   * #createShared shared}) has the newest bytes.
   *
   * @throws TransferException if bytes could not be copied to external memory; they stay where they
   *     are. Further failures are suppressed exceptions
   */
  void synchronize();

  /**
   * Like {@link #synchronize()}, on a thread of the library. The future covers the operations that
   * were requested before this call, and fails as that method does.
   */
  CompletableFuture<Void> synchronizeAsync();

  /**
   * Lends buffers to native code, as to a kernel launch. The bytes that native code reads are
   * brought to the device. The buffers' memory does not move until the access is closed and the
   * work that was submitted to {@link NativeAccess#queue()} has ended. That queue is ordered after
   * earlier operations on the buffers; the calling thread does not wait for kernels that the device
   * orders. For a {@link NativeKind#HOST_POINTER} the calling thread waits, and native code must
   * have finished when it closes the access. On {@code cpu:0} all handles are of that kind. Either
   * all buffers are lent, or none.
   *
   * <p>While buffers are lent, conflicting operations are rejected: all operations on a buffer that
   * native code writes, and writes to a buffer that it only reads. A lent buffer that is closed is
   * freed when the access is closed and its work has ended. An access that becomes unreachable is
   * closed, and reported.
   *
   * <p>Nothing checks how native code uses the memory. If it uses a segment or address after the
   * access is closed and its work has ended, the virtual machine may crash.
   *
   * @param uses the buffers of this manager, each once, and what native code does with them
   * @throws IllegalArgumentException if a buffer belongs to another manager or is named twice, or
   *     none is named, or the requested kind of handle needs another alignment
   * @throws IllegalStateException if a buffer is closed, or is mapped or lent in a way that
   *     conflicts
   * @throws OutOfDeviceMemoryException if there is no room on the device
   * @throws UnsupportedOperationException if the accelerator has no handle of the requested kind,
   *     or a buffer to be written is mapped from a file for reading
   * @throws TransferException if bytes could not be brought to the device
   */
  NativeAccess lend(NativeUse... uses);

  /**
   * Like {@link #lend}, on a thread of the library, which may wait for transfers. Operations that
   * are requested before the future completes are ordered before or after native code's work. If
   * the future is cancelled, an access that was already created is closed.
   */
  CompletableFuture<NativeAccess> lendAsync(NativeUse... uses);

  /**
   * Lends buffers to native code that has its own queue. Commands that native code submits there
   * after this call run after earlier operations on the buffers. Later operations run after the
   * commands that were submitted before the access was closed. The queue may execute out of order.
   *
   * @param queue a {@code CUstream} of the accelerator's context, except CUDA's default streams 0,
   *     1 and 2, or a {@code cl_command_queue} of its context and device. It must live until the
   *     access is closed
   * @param uses as for {@link #lend}
   * @throws IllegalArgumentException also if the queue belongs to another context or device
   * @throws UnsupportedOperationException also if the accelerator has no queues
   */
  NativeAccess lendOn(long queue, NativeUse... uses);

  /** Like {@link #lendOn}, in the background; see {@link #lendAsync}. */
  CompletableFuture<NativeAccess> lendOnAsync(long queue, NativeUse... uses);

  /** Returns the transfer engine, which copies between buffers. */
  TransferEngine transfers();

  /**
   * Closes the manager: waits for running operations, frees every buffer that is still open, and
   * reports how many there were. An operation that another thread has begun succeeds, or fails
   * because the manager is closed. The memory of a mapped buffer is freed when its mapping is
   * closed. No driver call is in progress when this method returns. A second thread that calls this
   * method waits for the first. Idempotent; throws nothing.
   */
  @Override
  void close();
}
