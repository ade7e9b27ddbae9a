package dev.tidepool.runtime.kernel;

import dev.tidepool.AbstractUnifiedBuffer;
import dev.tidepool.AcceleratorKind;
import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.runtime.buffer.BufferAllocator;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.buffer.ForeignBytes;
import dev.tidepool.runtime.order.CompositeFuture;
import dev.tidepool.runtime.order.DeviceLaunch;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.KernelBody;
import dev.tidepool.runtime.order.LaunchQueues;
import dev.tidepool.runtime.order.MultiBufferAdmission;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.Coherence;
import dev.tidepool.runtime.storage.CoherenceState;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One run of a kernel: its arguments, brought to this manager's device where they are elsewhere,
 * the launch, and what goes back.
 *
 * <p>Arrays and buffers of other managers pass through buffers of this one that live for the run.
 * Copies in, launch and copies out are pieces of work on those buffers, asked for in this order;
 * the order of each buffer does the rest, and a failure of one fails those behind it.
 */
final class KernelLaunch implements AutoCloseable {
  private static final Allocation TEMPORARY =
      Allocation.at(MemoryLocation.DEVICE).tag("kernel argument");

  /** An array argument on this manager's device. */
  record Placed(KernelParameter parameter, BufferHandle<?> buffer) {}

  private final StorageContext context;
  private final BufferAllocator allocator;
  private final KernelRun run;
  private final Signature signature;
  private final List<KernelParameter> parameters;
  private final List<KernelParameter> compiled;
  private final Map<String, Object> values;
  private final LaunchRange range;
  private final List<Placed> placed = new ArrayList<>();
  private final List<BufferHandle<?>> temporaries = new ArrayList<>();
  private @Nullable BufferHandle<int[]> faultStatus;
  private final List<Copy> inbound = new ArrayList<>();
  private final List<Copy> outbound = new ArrayList<>();
  private @Nullable Operation operation;
  // Used only by the attempts to run the launch, which follow each other. A submitted launch is not
  // tried again.
  private boolean submitted;
  // Set where the device orders the launch.
  private @Nullable DeviceLaunch command;
  // For each of `placed`: whether the launch was submitted to write it, and whether its host copy
  // counts again if that fails.
  private boolean[] expected = {};
  private boolean[] revocable = {};
  private int[] revocations = {};
  // For each of `placed` its block on the device, if that needs no movement; and whether the thread
  // that asked found all of them so.
  private @Nullable Block[] blocks = {};
  private boolean isInPlace;

  /** A copy between a temporary and what it stands for, now or in the background. */
  private record Copy(Runnable perform, Supplier<CompletableFuture<Void>> submit) {}

  private KernelLaunch(
      StorageContext context,
      BufferAllocator allocator,
      KernelRun run,
      Signature signature,
      List<KernelParameter> parameters,
      Arguments arguments,
      LaunchRange range) {
    this.context = context;
    this.allocator = allocator;
    this.run = run;
    this.signature = signature;
    this.parameters = parameters;
    this.compiled = signature.compiled(parameters);
    this.values = arguments.values();
    this.range = range;
  }

  /** Sees to the arguments of a run. */
  static KernelLaunch bind(
      StorageContext context,
      BufferAllocator allocator,
      KernelRun run,
      Signature signature,
      Arguments arguments,
      @Nullable LaunchRange asked) {
    List<KernelParameter> parameters = signature.parameters(arguments, asked);
    List<Long> lengths = new ArrayList<>(parameters.size());
    List<String> names = new ArrayList<>(parameters.size());
    for (KernelParameter parameter : parameters) {
      if (parameter.access().isArray()) {
        names.add(parameter.name());
        lengths.add(length(parameter.type(), arguments.values().get(parameter.name())));
      }
    }
    LaunchRange range = signature.range(lengths, names, asked);
    KernelLaunch launch =
        new KernelLaunch(context, allocator, run, signature, parameters, arguments, range);
    try {
      launch.place();
      Overlaps.checkBarriers(launch.placed, signature.decidingArrays());
      if (signature.isolatesOverlaps()) {
        launch.isolateOverlaps();
      }
      launch.addFaultStatus();
      return launch;
    } catch (RuntimeException | Error e) {
      launch.close();
      throw e;
    }
  }

  private static <A> long length(ElementType<A> type, @Nullable Object value) {
    return value instanceof UnifiedBuffer<?> buffer
        ? buffer.length()
        : type.length(type.arrayClass().cast(Objects.requireNonNull(value, "checked before")));
  }

  private void place() {
    for (KernelParameter parameter : parameters) {
      if (parameter.access().isArray()) {
        Object value = values.get(parameter.name());
        if (value == null) {
          throw new IllegalArgumentException("argument '" + parameter.name() + "' is missing");
        }
        placed.add(new Placed(parameter, here(parameter, value)));
      }
    }
  }

  /** An argument on this device: itself, or a temporary for it. Two for one memory share that. */
  private BufferHandle<?> here(KernelParameter parameter, Object value) {
    BufferHandle<?> own = ofThisManager(value);
    for (Placed earlier : placed) {
      Object other = Objects.requireNonNull(values.get(earlier.parameter().name()));
      if (own == null && Overlaps.isSame(other, value)) {
        return earlier.buffer();
      }
      BufferHandle<?> otherOwn = ofThisManager(other);
      if (own == null || otherOwn == null || Overlaps.areApart(otherOwn, own)) {
        Overlaps.checkCopies(
            earlier.parameter(), other, parameter, value, signature.isolatesOverlaps());
      }
    }
    return own == null ? temporaryFor(parameter, value) : own;
  }

  private @Nullable BufferHandle<?> ofThisManager(Object value) {
    return value instanceof BufferHandle<?> buffer && buffer.storage().context() == context
        ? buffer
        : null;
  }

  private BufferHandle<?> temporaryFor(KernelParameter parameter, Object value) {
    return value instanceof UnifiedBuffer<?> elsewhere
        ? temporaryFor(elsewhere)
        : temporaryFor(parameter.type(), value);
  }

  /** Whether an array or buffer is passed for a parameter with a certain access. */
  private boolean isUsed(Object value, Predicate<KernelParameter.Access> access) {
    for (KernelParameter parameter : parameters) {
      if (access.test(parameter.access()) && Overlaps.isSame(values.get(parameter.name()), value)) {
        return true;
      }
    }
    return false;
  }

  private <A> BufferHandle<A> temporaryFor(UnifiedBuffer<A> elsewhere) {
    BufferHandle<A> temporary = temporary(elsewhere.elementType(), elsewhere.length());
    if (isUsed(elsewhere, KernelParameter.Access::reads)) {
      inbound.add(
          new Copy(() -> temporary.copyFrom(elsewhere), () -> temporary.copyFromAsync(elsewhere)));
    }
    if (isUsed(elsewhere, KernelParameter.Access::writes)) {
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

  private <A> BufferHandle<A> temporaryFor(ElementType<A> type, Object value) {
    A array = type.arrayClass().cast(value);
    BufferHandle<A> temporary = temporary(type, type.length(array));
    if (isUsed(value, KernelParameter.Access::reads)) {
      inbound.add(new Copy(() -> temporary.copyFrom(array), () -> temporary.copyFromAsync(array)));
    }
    if (isUsed(value, KernelParameter.Access::writes)) {
      outbound.add(new Copy(() -> temporary.copyTo(array), () -> temporary.copyToAsync(array)));
    }
    return temporary;
  }

  private <A> BufferHandle<A> temporary(ElementType<A> type, long length) {
    context.checkOpen();
    BufferHandle<A> temporary = (BufferHandle<A>) allocator.allocate(type, length, TEMPORARY);
    temporaries.add(temporary);
    return temporary;
  }

  /**
   * Items run in any order, so an array that is written must not overlap another at an offset: what
   * is only read is copied first.
   */
  private void isolateOverlaps() {
    for (int i = 0; i < placed.size(); i++) {
      for (int j = 0; j < placed.size(); j++) {
        Placed other = placed.get(i);
        Placed written = placed.get(j);
        if (i != j && written.parameter().access().writes() && Overlaps.clash(written, other)) {
          if (other.parameter().access().writes()) {
            throw Overlaps.bothWritten(other.parameter(), written.parameter());
          }
          placed.set(i, isolated(other));
        }
      }
    }
  }

  private Placed isolated(Placed read) {
    return new Placed(read.parameter(), copied(read.buffer()));
  }

  private <A> BufferHandle<A> copied(BufferHandle<A> buffer) {
    BufferHandle<A> temporary = temporary(buffer.elementType(), buffer.length());
    inbound.add(new Copy(() -> temporary.copyFrom(buffer), () -> temporary.copyFromAsync(buffer)));
    return temporary;
  }

  /** A program whose items may fail says so in an array behind its arguments. */
  private void addFaultStatus() {
    if (run.source() instanceof KernelSource.Method
        && range.items() > 0
        && run.program(compiled).reportsFaults()) {
      BufferHandle<int[]> status = temporary(ElementType.INT, CheckedLaunch.INTS);
      faultStatus = status;
      placed.add(new Placed(CheckedLaunch.PARAMETER, status));
    }
  }

  /** Runs and returns when done. */
  void perform() {
    inbound.forEach(copy -> copy.perform().run());
    operation().perform(!Thread.currentThread().isVirtual());
    outbound.forEach(copy -> copy.perform().run());
  }

  /**
   * Runs in the background. All parts take their place in the order of the buffers now, so the
   * launch may be closed at once.
   */
  CompletableFuture<Void> submit() {
    if (inbound.isEmpty() && outbound.isEmpty()) {
      return submitLaunch();
    }
    List<CompletableFuture<Void>> parts = new ArrayList<>(1 + inbound.size() + outbound.size());
    inbound.forEach(copy -> parts.add(copy.submit().get()));
    parts.add(submitLaunch());
    outbound.forEach(copy -> parts.add(copy.submit().get()));
    return context.track(CompositeFuture.of(parts, context.callbackExecutor()));
  }

  private CompletableFuture<Void> submitLaunch() {
    Operation launched = operation();
    LaunchQueues queues = launchQueues();
    if (queues != null) {
      command = new DeviceLaunch(queues, this::findAhead, this::settled);
      launched.launching(command);
    }
    run.endsWith(launched);
    return context.submit(launched, run::end);
  }

  /** The queues if the device orders this launch; else null. */
  private @Nullable LaunchQueues launchQueues() {
    if (range.items() == 0
        || !context.isDeviceOrdered()
        || run.source() instanceof KernelSource.Java
        || context.accelerator().kind() == AcceleratorKind.CPU) {
      return null;
    }
    try {
      return context.launchQueues();
    } catch (RuntimeException refused) {
      // The body asks for a queue, too, and its failure is the future's.
      return null;
    }
  }

  private Operation operation() {
    List<ResourceAccess> uses = new ArrayList<>(placed.size());
    for (Placed argument : placed) {
      uses.add(
          ResourceAccess.onDevice(
              argument.buffer().storage(), argument.parameter().access().writes()));
    }
    Operation asked =
        Operation.of(uses, context.kernelThreads(), this::launch)
            .retrying(context.retries().until(() -> submitted));
    operation = asked;
    return asked;
  }

  private void launch() {
    Program program = run.program(compiled);
    if (range.items() == 0) {
      return;
    }
    boolean areInPlace = isInPlace;
    // Another attempt, if there is one, looks again.
    isInPlace = false;
    Launch launch = new Launch(program, arguments(areInPlace), range);
    Operation running = Objects.requireNonNull(operation, "it was asked for");
    KernelBody.launch(run.source(), parameters, context, running, () -> run(launch));
  }

  /**
   * Whether the launch can be submitted without blocking: code and blocks are there, and no byte
   * has to move. Called by an operation that occupies its storages.
   */
  private boolean findAhead() {
    isInPlace = run.latestProgram(compiled) != null && findInPlace();
    return isInPlace;
  }

  /** Looks for the blocks of all arguments; whether each is in place. */
  private boolean findInPlace() {
    int count = placed.size();
    int[] seen = new int[count];
    @Nullable Block[] found = new Block[count];
    boolean all = true;
    for (int i = 0; i < count; i++) {
      Placed argument = placed.get(i);
      BufferHandle<?> buffer = argument.buffer();
      Coherence coherence = coherence(argument);
      seen[i] = coherence.state().revocations();
      found[i] =
          coherence.deviceInPlace(
              buffer.from(), buffer.to(), argument.parameter().access().writes());
      all &= found[i] != null;
    }
    revocations = seen;
    blocks = found;
    return all;
  }

  private List<KernelArgument> arguments(boolean areInPlace) {
    if (!areInPlace && !findInPlace()) {
      provideMemory();
    }
    List<KernelArgument> arguments = new ArrayList<>(parameters.size());
    int array = 0;
    for (KernelParameter parameter : parameters) {
      if (parameter.access().isArray()) {
        arguments.add(argument(array));
        array++;
      } else {
        arguments.add(new KernelArgument.Scalar(scalar(parameter)));
      }
    }
    if (faultStatus != null) {
      arguments.add(argument(array));
    }
    return arguments;
  }

  private KernelArgument argument(int array) {
    Placed argument = placed.get(array);
    Block block = blocks[array];
    if (block == null) {
      block = block(argument);
    } else {
      coherence(argument).usedInPlace();
    }
    BufferHandle<?> buffer = argument.buffer();
    return new KernelArgument.Array(block.whole(), block.start() + buffer.from(), buffer.bytes());
  }

  /** Sees to device memory for all arguments, before the bytes of any travel. */
  private void provideMemory() {
    if (placed.stream().noneMatch(KernelLaunch::lacksMemory)) {
      return;
    }
    // The operation lets its buffers go meanwhile, and the blocks that were found may move.
    blocks = new Block[placed.size()];
    MultiBufferAdmission.inTurn(
        Objects.requireNonNull(operation, "it was asked for"),
        List.of(context.admission()),
        () ->
            placed.stream()
                .filter(KernelLaunch::lacksMemory)
                .forEach(argument -> coherence(argument).provideDeviceMemory()));
  }

  private static Coherence coherence(Placed argument) {
    return argument.buffer().storage().coherence();
  }

  private static boolean lacksMemory(Placed argument) {
    return coherence(argument).lacksDeviceMemory();
  }

  private Object scalar(KernelParameter parameter) {
    Object value = values.get(parameter.name());
    if (value == null) {
      throw new IllegalArgumentException("argument '" + parameter.name() + "' is missing");
    }
    return signature.scalar(parameter, value);
  }

  private static Block block(Placed argument) {
    BufferHandle<?> buffer = argument.buffer();
    Coherence coherence = buffer.storage().coherence();
    try {
      return switch (argument.parameter().access()) {
        case OUT -> coherence.deviceForWrite(buffer.from(), buffer.to(), true);
        case INOUT -> coherence.deviceForWrite(buffer.from(), buffer.to(), false);
        default -> coherence.deviceForRead(buffer.from(), buffer.to());
      };
    } catch (InternalError e) {
      // The bytes of a mapped file vanished on their way to the device.
      throw Exceptions.transfer(
          e, "bringing '" + argument.parameter().name() + "', " + buffer + ", to the device");
    }
  }

  private void run(Launch launch) {
    submitted = true;
    expected = new boolean[placed.size()];
    revocable = new boolean[placed.size()];
    try {
      CheckedLaunch checked =
          faultStatus == null
              ? null
              : new CheckedLaunch((KernelSource.Method) run.source(), launch, context.link());
      if (command != null) {
        submit(command, launch, checked);
        expectWritten();
      } else if (checked != null) {
        checked.perform(context.link().compute());
      } else {
        DeviceLink.finish(context.link().compute().launch(launch));
      }
    } catch (RuntimeException | Error e) {
      forEachWritten(CoherenceState::deviceWriteFailed);
      throw e;
    }
    if (command == null) {
      forEachWritten(CoherenceState::deviceWritten);
    }
  }

  private static void submit(DeviceLaunch command, Launch launch, @Nullable CheckedLaunch checked) {
    if (checked == null) {
      command.submit(
          (queue, dependsOn) ->
              dependsOn.isEmpty() ? queue.launch(launch) : queue.launch(launch, dependsOn));
    } else {
      command.submitChecked(checked::submit, checked);
    }
  }

  private void expectWritten() {
    for (int i = 0; i < revocable.length; i++) {
      Placed argument = placed.get(i);
      BufferHandle<?> buffer = argument.buffer();
      if (argument.parameter().access().writes()) {
        revocable[i] =
            coherence(argument).state().deviceWillWrite(buffer.from(), buffer.to(), revocations[i]);
        expected[i] = true;
      }
    }
  }

  /** The launch has ended, or one that it comes behind has failed. */
  private void settled(@Nullable Throwable failure) {
    for (int i = 0; i < expected.length; i++) {
      if (expected[i]) {
        // Once: this is called again if it was interrupted.
        expected[i] = false;
        Placed argument = placed.get(i);
        BufferHandle<?> buffer = argument.buffer();
        coherence(argument)
            .state()
            .deviceWriteSettled(buffer.from(), buffer.to(), failure != null && revocable[i]);
      }
    }
  }

  private interface Range {
    void of(CoherenceState state, long from, long to);
  }

  private void forEachWritten(Range action) {
    for (Placed argument : placed) {
      if (argument.parameter().access().writes()) {
        BufferHandle<?> buffer = argument.buffer();
        action.of(coherence(argument).state(), buffer.from(), buffer.to());
      }
    }
  }

  /** Closes the temporaries, which are freed when all parts that were asked for are done. */
  @Override
  public void close() {
    Throwable thrown = null;
    for (BufferHandle<?> temporary : temporaries) {
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
