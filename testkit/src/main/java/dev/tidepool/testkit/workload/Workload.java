package dev.tidepool.testkit.workload;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Reservation;
import dev.tidepool.TidepoolException;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.NativeFill;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.workload.History.Effect;
import dev.tidepool.transfer.PeerAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Performs operations on buffers and on the arrays that they must equal.
 *
 * <p>Safe for use by several threads. Each operation holds the locks of its one or two slots, the
 * lower index first, while it requests work. It releases them before asynchronous work is done.
 */
public final class Workload {
  private static final int SLOTS = 10;
  private static final int MOST_LEFT = 100;

  /** More than all buffers need at once, including those that are closing. */
  private static final long RESERVED = 8 << 20;

  private final List<UnifiedMemoryManager> managers;
  private final @Nullable FaultInjector faults;
  private final @Nullable PeerAccess peers;
  private final @Nullable NativeFill nativeFill;
  private final List<Slot> slots = new ArrayList<>();
  private final AtomicReference<@Nullable Reservation> reserved = new AtomicReference<>();
  private final ConcurrentLinkedQueue<History> left = new ConcurrentLinkedQueue<>();

  /** The number of elements compared in histories that have ended. */
  private final LongAdder verified = new LongAdder();

  private final Map<UnifiedMemoryManager, Map<String, Kernel>> kernels = new ConcurrentHashMap<>();

  /**
   * Creates a workload over buffers of some managers, most of them of the first.
   *
   * @param faults the injector of the operations' faults; null to ignore them
   */
  public Workload(List<UnifiedMemoryManager> managers, @Nullable FaultInjector faults) {
    this(managers, faults, null, null);
  }

  /**
   * Like the constructor above.
   *
   * @param peers distributes buffers; null to omit distributions
   * @param nativeFill the command of native code for buffers of the first manager's device; null if
   *     native code does not use them
   */
  public Workload(
      List<UnifiedMemoryManager> managers,
      @Nullable FaultInjector faults,
      @Nullable PeerAccess peers,
      @Nullable NativeFill nativeFill) {
    this.managers = List.copyOf(managers);
    this.faults = faults;
    this.peers = peers;
    this.nativeFill = nativeFill;
    for (int i = 0; i < SLOTS; i++) {
      slots.add(new Slot(i, faults != null));
    }
  }

  /** Returns the greatest number of buffers. */
  public static int slots() {
    return SLOTS;
  }

  /** Performs one operation; asynchronous work may continue afterwards. */
  public void perform(Operation operation) {
    Slot one = slots.get(operation.slot());
    Slot two = slots.get(operation.other());
    Slot first = one.index <= two.index ? one : two;
    Slot second = first == one ? two : one;
    first.lock.lock();
    second.lock.lock();
    try {
      if (faults != null && operation.faultAfter() > 0) {
        faults.fail(operation.faultAfter(), operation.failure());
      }
      run(operation, one, two, new SplittableRandom(operation.seed()));
    } catch (TidepoolException e) {
      if (faults == null) {
        throw new WorkloadFailure(operation, "failed: " + e, e);
      }
    } catch (RuntimeException e) {
      throw new WorkloadFailure(operation, "failed: " + e, e);
    } finally {
      second.lock.unlock();
      first.lock.unlock();
    }
  }

  /**
   * Reads every buffer a last time, closes it, and checks the unchecked operations. Returns the
   * number of all compared elements.
   */
  public long finish() {
    if (faults != null) {
      faults.disarm();
    }
    for (Slot slot : slots) {
      UnifiedBuffer<int[]> buffer = slot.buffer;
      slot.history.settle();
      if (buffer != null && !slot.history.isUnknown()) {
        readLast(slot, buffer);
      }
      if (buffer != null) {
        close(
            new Operation(-1, Operation.Kind.REPLACE, slot.index, 0, 0, 0, Failure.REFUSED),
            slot,
            buffer);
      }
      left.add(slot.history);
    }
    for (History history : left) {
      history.settle();
      verified.add(history.verified());
    }
    return verified.sum();
  }

  /**
   * Reads a buffer whose contents are known. Earlier failures do not excuse a failure now, except
   * that of a prefetch, which is reported at the next use, and the loss of the device.
   */
  private void readLast(Slot slot, UnifiedBuffer<int[]> buffer) {
    Operation last =
        new Operation(-1, Operation.Kind.READ_ALL, slot.index, 0, 0, 0, Failure.REFUSED);
    int[] seen = new int[slot.model.length];
    for (int attempt = faults == null ? 2 : 1; ; attempt++) {
      try {
        buffer.copyTo(seen);
        slot.history.read(last, CompletableFuture.completedFuture(null), seen, slot.model);
        return;
      } catch (TidepoolException e) {
        if (faults != null && faults.hasLostDevice()) {
          return;
        }
        if (attempt == 2) {
          throw new WorkloadFailure(last, "cannot be read though no write failed: " + e, e);
        }
      }
    }
  }

  private void run(Operation operation, Slot slot, Slot other, SplittableRandom random) {
    if (operation.kind() == Operation.Kind.TRIM) {
      managers.forEach(UnifiedMemoryManager::trimExcess);
      return;
    }
    if (operation.kind() == Operation.Kind.SUSPEND) {
      managers.get(random.nextInt(managers.size())).suspend();
      return;
    }
    if (operation.kind() == Operation.Kind.RESUME) {
      managers.forEach(UnifiedMemoryManager::resume);
      return;
    }
    if (operation.kind() == Operation.Kind.RESERVE) {
      reserve();
      return;
    }
    UnifiedBuffer<int[]> buffer = slot.buffer;
    if (operation.kind() == Operation.Kind.REPLACE || buffer == null) {
      replace(operation, slot, random);
      return;
    }
    Range range = Range.in(slot.model.length, random);
    Range all = new Range(0, slot.model.length);
    Steps steps = new Steps(operation, slot);
    int from = range.from();
    switch (operation.kind()) {
      case WRITE_ALL -> steps.write(all, random, fresh -> buffer.copyFrom(fresh));
      case WRITE_PART -> writePart(steps, buffer, range, random);
      case WRITE_LATER ->
          steps.writeLater(
              range, random, fresh -> buffer.copyFromAsync(fresh, 0, from, fresh.length));
      case READ_ALL -> steps.read(all, seen -> buffer.copyTo(seen));
      case READ_PART -> steps.read(range, seen -> buffer.copyTo(from, seen, 0, seen.length));
      case READ_LATER ->
          steps.readLater(range, seen -> buffer.copyToAsync(from, seen, 0, seen.length));
      case WRITE_SEGMENT ->
          steps.write(
              range, random, fresh -> withSegment(fresh, random, s -> buffer.copyFrom(s, from)));
      case READ_SEGMENT ->
          steps.read(range, seen -> withSegment(seen, random, s -> buffer.copyTo(from, s)));
      case WRITE_BYTES -> writeBytes(steps, buffer, range, random);
      case VIEW_READ ->
          steps.read(
              range,
              seen ->
                  withSlice(
                      buffer,
                      range,
                      slice ->
                          ElementType.INT.read(
                              slice.asReadOnlySegment(), 0, seen, 0, seen.length)));
      case VIEW_WRITE ->
          steps.write(
              range,
              random,
              fresh ->
                  withSlice(
                      buffer,
                      range,
                      slice ->
                          ElementType.INT.write(fresh, 0, slice.asSegment(), 0, fresh.length)));
      case MAP -> map(steps, buffer, range, random);
      case COPY, COPY_LATER -> copy(operation, slot, buffer, other, random);
      case KERNEL_OUT, KERNEL_IN_PLACE, KERNEL_OF_ARRAY, KERNEL_OF_TWO, KERNEL_LATER ->
          kernel(operation, slot, buffer, other, random);
      case KERNELS_THROUGH_ANOTHER -> through(steps, buffer, random);
      case TRANSFERS, TRANSFERS_LATER -> transfers(operation, slot, buffer, other, random);
      case DISTRIBUTE -> distribute(operation, slot, buffer, other, random);
      case FILL -> {
        byte value = (byte) random.nextInt();
        steps.set(
            range,
            (value & 0xFF) * 0x01010101,
            () -> withSlice(buffer, range, slice -> slice.fill(value)));
      }
      case LEND_READ ->
          steps.read(
              range,
              seen -> withLent(slot, buffer, range, NativeUse::read, s -> readInts(s, seen)));
      case LEND_WRITE ->
          steps.write(
              range,
              random,
              fresh ->
                  withLent(
                      slot,
                      buffer,
                      range,
                      random.nextBoolean() ? NativeUse::write : NativeUse::readWrite,
                      s -> ElementType.INT.write(fresh, 0, s, 0, fresh.length)));
      case LEND_DEVICE -> lendToDevice(steps, buffer, range, random);
      case SYNCHRONIZE -> steps.move(buffer::synchronize);
      case PREFETCH_TO_DEVICE -> steps.move(buffer::prefetchToDevice);
      case PREFETCH_TO_HOST -> steps.move(buffer::prefetchToHost);
      case REPLACE, TRIM, SUSPEND, RESUME, RESERVE ->
          throw new IllegalStateException("handled above");
    }
  }

  /** Closes a buffer; memory that outlives it must contain the last written elements. */
  private void close(Operation operation, Slot slot, UnifiedBuffer<int[]> buffer) {
    Foreign foreign = slot.foreign;
    slot.foreign = null;
    try {
      buffer.close();
    } catch (TransferException lost) {
      if (faults == null || foreign == null) {
        throw lost;
      }
      return;
    }
    if (foreign != null) {
      slot.history.read(
          operation, CompletableFuture.completedFuture(null), foreign.contents(), slot.model);
    }
  }

  /**
   * Closes the reservation of the first manager; if there is none, reserves room for all buffers.
   */
  private void reserve() {
    Reservation last = reserved.getAndSet(null);
    if (last != null) {
      last.close();
      return;
    }
    UnifiedMemoryManager first = managers.getFirst();
    if (first.accelerator().memory().totalBytes() < 2 * RESERVED) {
      // Buffers outside of the reservation would get no memory.
      return;
    }
    try {
      Reservation fresh = first.reserve("workload", RESERVED, Duration.ZERO);
      if (!reserved.compareAndSet(null, fresh)) {
        fresh.close();
      }
    } catch (OutOfDeviceMemoryException full) {
      // The device is small or has a limit: the workload continues without a reservation.
      return;
    }
  }

  /** Allocates a buffer, half of those of the first manager within the reservation. */
  private UnifiedBuffer<int[]> allocate(
      UnifiedMemoryManager manager, int length, Allocation asked, SplittableRandom random) {
    Reservation within = random.nextBoolean() ? reserved.get() : null;
    if (within != null && within.manager().equals(manager)) {
      try {
        return manager.allocate(ElementType.INT, length, asked.within(within));
      } catch (IllegalStateException e) {
        if (within.isOpen()) {
          throw e;
        }
      }
    }
    return manager.allocate(ElementType.INT, length, asked);
  }

  private void replace(Operation operation, Slot slot, SplittableRandom random) {
    UnifiedBuffer<int[]> old = slot.buffer;
    if (old != null) {
      slot.buffer = null;
      left.add(slot.history);
      close(operation, slot, old);
    }
    slot.history = new History(faults != null);
    UnifiedMemoryManager manager =
        managers.get(random.nextInt(4) > 0 ? 0 : random.nextInt(managers.size()));
    int length = random.nextInt(20) == 0 ? random.nextInt(30_000) : random.nextInt(1500);
    Allocation allocation = Allocation.at(location(manager, random)).tag("slot " + slot.index);
    if (random.nextInt(5) == 0) {
      allocation = allocation.unpooled();
    }
    int foreign = length == 0 ? -1 : random.nextInt(10);
    boolean zeroed = (foreign >= 0 && foreign <= 2) || random.nextBoolean();
    Allocation asked = zeroed ? allocation.zeroed() : allocation;
    slot.foreign =
        switch (foreign) {
          case 0 -> Foreign.wrapped(manager, length);
          case 1 -> Foreign.mapped(manager, length);
          // With faults, the owner's contents could be lost without an error of this buffer.
          case 2 -> faults == null ? Foreign.adopted(manager, length) : null;
          default -> null;
        };
    UnifiedBuffer<int[]> buffer =
        slot.foreign == null ? allocate(manager, length, asked, random) : slot.foreign.buffer();
    slot.buffer = buffer;
    slot.manager = manager;
    slot.model = new int[length];
    if (!zeroed) {
      new Steps(operation, slot)
          .write(new Range(0, length), random, fresh -> buffer.copyFrom(fresh));
    }
    if (left.size() > MOST_LEFT) {
      History ended = left.poll();
      if (ended != null) {
        ended.settle();
        verified.add(ended.verified());
      }
    }
  }

  private static MemoryLocation location(UnifiedMemoryManager manager, SplittableRandom random) {
    Set<Capability> capabilities = manager.accelerator().capabilities();
    boolean unified =
        capabilities.contains(Capability.UNIFIED_MEMORY)
            || capabilities.contains(Capability.SHARED_MEMORY);
    return switch (random.nextInt(unified ? 7 : 6)) {
      case 0, 1, 2 -> MemoryLocation.DEVICE;
      case 3, 4 -> MemoryLocation.HOST;
      case 5 -> MemoryLocation.PINNED;
      default -> MemoryLocation.UNIFIED;
    };
  }

  private static void withSlice(
      UnifiedBuffer<int[]> buffer, Range range, Consumer<UnifiedBuffer<int[]>> use) {
    try (UnifiedBuffer<int[]> slice = buffer.slice(range.from(), range.count())) {
      use.accept(slice);
    }
  }

  /** Passes a segment with an array's elements to a use, and copies its elements back. */
  private static void withSegment(
      int[] array, SplittableRandom random, Consumer<MemorySegment> use) {
    if (random.nextBoolean()) {
      use.accept(MemorySegment.ofArray(array));
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      int shift = random.nextInt(3);
      MemorySegment segment =
          arena.allocate(4L * array.length + shift, 4).asSlice(shift, 4L * array.length);
      ElementType.INT.write(array, 0, segment, 0, array.length);
      use.accept(segment);
      ElementType.INT.read(segment, 0, array, 0, array.length);
    }
  }

  private static void writePart(
      Steps steps, UnifiedBuffer<int[]> buffer, Range range, SplittableRandom random) {
    int pad = random.nextInt(4);
    steps.write(
        range,
        random,
        fresh -> {
          int[] padded = new int[fresh.length + pad + 1];
          System.arraycopy(fresh, 0, padded, pad, fresh.length);
          buffer.copyFrom(padded, pad, range.from(), fresh.length);
        });
  }

  private static void writeBytes(
      Steps steps, UnifiedBuffer<int[]> buffer, Range range, SplittableRandom random) {
    steps.write(
        range,
        random,
        fresh -> {
          byte[] bytes = new byte[4 * fresh.length];
          ElementType.INT.write(fresh, 0, MemorySegment.ofArray(bytes), 0, fresh.length);
          try (UnifiedBuffer<byte[]> view = buffer.as(ElementType.BYTE)) {
            int third = bytes.length / 3; // most likely in the middle of an element
            view.copyFrom(bytes, 0, 4L * range.from(), third);
            view.copyFrom(bytes, third, 4L * range.from() + third, bytes.length - third);
          }
        });
  }

  private static void readInts(MemorySegment segment, int[] seen) {
    ElementType.INT.read(segment, 0, seen, 0, seen.length);
  }

  private static void withLent(
      Slot slot,
      UnifiedBuffer<int[]> buffer,
      Range range,
      Function<UnifiedBuffer<?>, NativeUse> lent,
      Consumer<MemorySegment> use) {
    withSlice(
        buffer,
        range,
        slice -> {
          NativeUse asked = lent.apply(slice).as(NativeKind.HOST_POINTER);
          try (NativeAccess access = managerOf(slot).lend(asked)) {
            use.accept(access.handle(slice).segment());
          }
        });
  }

  private static UnifiedMemoryManager managerOf(Slot slot) {
    return Objects.requireNonNull(slot.manager, "it made the buffer");
  }

  private void lendToDevice(
      Steps steps, UnifiedBuffer<int[]> buffer, Range range, SplittableRandom random) {
    UnifiedMemoryManager manager = managerOf(steps.slot());
    NativeFill code = manager.equals(managers.getFirst()) ? nativeFill : null;
    if (code == null) {
      steps.move(
          () ->
              withSlice(
                  buffer,
                  range,
                  slice -> {
                    boolean writes = random.nextBoolean();
                    manager
                        .lend(writes ? NativeUse.readWrite(slice) : NativeUse.read(slice))
                        .close();
                  }));
      return;
    }
    int word = random.nextInt(256) * 0x01010101;
    steps.set(
        range,
        word,
        // The access does not report failures of earlier operations or of its own close.
        faults != null,
        () ->
            withSlice(
                buffer,
                range,
                slice -> {
                  try (NativeAccess access = manager.lend(NativeUse.write(slice))) {
                    code.fill(access, access.handle(slice), word);
                  }
                }));
  }

  private static void map(
      Steps steps, UnifiedBuffer<int[]> buffer, Range range, SplittableRandom random) {
    List<MapMode> modes = List.of(MapMode.READ, MapMode.WRITE, MapMode.READ_WRITE);
    MapMode mode = modes.get(random.nextInt(modes.size()));
    if (mode == MapMode.READ) {
      steps.read(
          range,
          seen ->
              withMapping(
                  buffer, range, mode, s -> ElementType.INT.read(s, 0, seen, 0, seen.length)));
    } else {
      steps.write(
          range,
          random,
          fresh ->
              withMapping(
                  buffer, range, mode, s -> ElementType.INT.write(fresh, 0, s, 0, fresh.length)));
    }
  }

  private static void withMapping(
      UnifiedBuffer<int[]> buffer, Range range, MapMode mode, Consumer<MemorySegment> use) {
    withSlice(
        buffer,
        range,
        slice -> {
          try (HostMapping mapping = slice.map(mode)) {
            use.accept(mapping.segment());
          }
        });
  }

  private void copy(
      Operation operation,
      Slot slot,
      UnifiedBuffer<int[]> target,
      Slot other,
      SplittableRandom random) {
    UnifiedBuffer<int[]> source = other.buffer;
    if (source == null) {
      return;
    }
    boolean spoilt = isSpoilt(slot, other);
    int count = random.nextInt(1 + Math.min(slot.model.length, other.model.length));
    int from = random.nextInt(1 + other.model.length - count);
    int to = random.nextInt(1 + slot.model.length - count);
    boolean all = count == slot.model.length && other != slot;
    Effect effect = spoilt ? Effect.SPOIL : all ? Effect.ALL : Effect.PART;
    System.arraycopy(other.model, from, slot.model, to, count);
    Steps steps = new Steps(operation, slot);
    try (UnifiedBuffer<int[]> fromSlice = source.slice(from, count);
        UnifiedBuffer<int[]> toSlice = target.slice(to, count)) {
      if (operation.kind() == Operation.Kind.COPY) {
        steps.perform(effect, () -> toSlice.copyFrom(fromSlice));
      } else {
        steps.performLater(effect, () -> toSlice.copyFromAsync(fromSlice));
      }
    }
  }

  private void transfers(
      Operation operation,
      Slot slot,
      UnifiedBuffer<int[]> buffer,
      Slot other,
      SplittableRandom random) {
    boolean spoilt = isSpoilt(slot, other);
    TransferList list = new TransferList(operation, slot, buffer, random);
    list.draw(other, spoilt);
    list.ask(operation.kind() == Operation.Kind.TRANSFERS_LATER, faults != null);
  }

  private void distribute(
      Operation operation,
      Slot slot,
      UnifiedBuffer<int[]> target,
      Slot other,
      SplittableRandom random) {
    UnifiedBuffer<int[]> source = other.buffer;
    PeerAccess access = peers;
    if (access == null || source == null || other == slot) {
      return;
    }
    Effect effect = isSpoilt(slot, other) ? Effect.SPOIL : Effect.PART;
    Spread spread = new Spread(slot, target, other, source, random);
    new Steps(operation, slot).performLater(effect, () -> spread.ask(access));
  }

  /**
   * Returns whether the other slot's contents are unknown. If failures are expected, settles both
   * slots first, because the outcome is unknown before.
   */
  private boolean isSpoilt(Slot slot, Slot other) {
    if (faults == null || other == slot) {
      return false;
    }
    slot.history.settle();
    other.history.settle();
    return other.history.isUnknown();
  }

  private void kernel(
      Operation operation,
      Slot slot,
      UnifiedBuffer<int[]> target,
      Slot other,
      SplittableRandom random) {
    UnifiedMemoryManager manager = slot.manager;
    KernelCall.Form form = KernelCall.formOf(operation.kind(), random);
    boolean ofTwo = form == KernelCall.Form.OF_TWO;
    if (manager == null || (ofTwo && (other.buffer == null || other == slot))) {
      return;
    }
    boolean spoilt = ofTwo && isSpoilt(slot, other);
    KernelCall call = KernelCall.draw(form, slot, target, other, other.buffer, spoilt, random);
    Steps steps = new Steps(operation, slot);
    if (operation.kind() == Operation.Kind.KERNEL_LATER) {
      steps.performLater(
          call.effect(), () -> compiled(manager, form.expression).executeAsync(call.arguments()));
    } else {
      steps.perform(
          call.effect(), () -> compiled(manager, form.expression).execute(call.arguments()));
    }
    call.closeSlices();
  }

  /**
   * Adds multiples through buffers whose memory other buffers use later, and perhaps used before.
   */
  private void through(Steps steps, UnifiedBuffer<int[]> y, SplittableRandom random) {
    UnifiedMemoryManager manager = steps.slot().manager;
    for (int left = random.nextInt(4); manager != null && left > 0; left--) {
      addMultiple(steps, manager, y, random.nextInt());
    }
  }

  private void addMultiple(
      Steps steps, UnifiedMemoryManager manager, UnifiedBuffer<int[]> y, int a) {
    int[] model = steps.slot().model;
    for (int i = 0; i < model.length; i++) {
      model[i] += model[i] * a;
    }
    Kernel multiply = compiled(manager, "t = y * a");
    Kernel add = compiled(manager, "y = y + t");
    steps.performLater(
        Effect.PART,
        () -> {
          try (UnifiedBuffer<int[]> t = manager.allocate(ElementType.INT, y.length())) {
            // A failure before the second request does not fail the second one.
            return CompletableFuture.allOf(
                multiply.executeAsync(Arguments.of("t", t, "y", y, "a", a)),
                add.executeAsync(Arguments.of("y", y, "t", t)));
          }
        });
  }

  private Kernel compiled(UnifiedMemoryManager manager, String expression) {
    Map<String, Kernel> own = kernels.computeIfAbsent(manager, _ -> new ConcurrentHashMap<>());
    return own.computeIfAbsent(expression, text -> manager.compile(KernelSource.elementwise(text)));
  }
}
