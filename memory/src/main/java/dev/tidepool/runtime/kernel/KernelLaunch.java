package dev.tidepool.runtime.kernel;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.methods.tree.Faults;
import dev.tidepool.runtime.buffer.BufferAllocator;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.order.CompositeFuture;
import dev.tidepool.runtime.order.DeviceLaunch;
import dev.tidepool.runtime.order.KernelBody;
import dev.tidepool.runtime.order.LaunchQueues;
import dev.tidepool.runtime.order.MultiBufferAdmission;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One run of a kernel: its arguments, which are copied to this manager's device if they are
 * elsewhere, the launch, and the copies of the results.
 *
 * <p>Arrays and buffers of other managers pass through {@link Temporaries}. Copies in, launch and
 * copies out are operations, submitted in this order. The queue of each buffer keeps them in order,
 * and a failure of one fails those behind it.
 */
final class KernelLaunch implements DeviceLaunch.Command, AutoCloseable {
  private final StorageContext context;
  private final BufferAllocator allocator;
  private final KernelRun run;
  private final Signature signature;
  private final List<KernelParameter> parameters;
  private final List<KernelParameter> compiled;
  private final Map<String, Object> values;
  private final LaunchRange range;
  private final boolean isRangeAsked;
  // In the order of the parameters. If the program reports faults, the array for them is the last.
  private final List<LaunchArgument> arrays;
  private boolean reportsFaults;
  private @Nullable Temporaries temporaries;
  private @Nullable Operation operation;
  // Set if the device orders the launch.
  private @Nullable DeviceLaunch command;
  // Whether the submitting thread found the blocks of all arrays in place.
  private boolean isInPlace;

  private KernelLaunch(
      StorageContext context,
      BufferAllocator allocator,
      KernelRun run,
      Signature signature,
      Arguments arguments,
      @Nullable LaunchRange asked) {
    this.context = context;
    this.allocator = allocator;
    this.run = run;
    this.signature = signature;
    this.parameters = signature.parameters(arguments, asked);
    this.compiled = signature.compiled(parameters);
    this.values = arguments.values();
    this.range = signature.range(parameters, lengths(parameters, arguments), asked);
    this.isRangeAsked = asked != null;
    this.arrays = new ArrayList<>(parameters.size() + 1);
  }

  /** Prepares the arguments of a run. */
  static KernelLaunch bind(
      StorageContext context,
      BufferAllocator allocator,
      KernelRun run,
      Signature signature,
      Arguments arguments,
      @Nullable LaunchRange asked) {
    KernelLaunch launch = new KernelLaunch(context, allocator, run, signature, arguments, asked);
    try {
      launch.place();
      Overlaps.checkBarriers(launch.arrays, signature.decidingArrays());
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

  private static long[] lengths(List<KernelParameter> parameters, Arguments arguments) {
    long[] lengths = new long[parameters.size()];
    for (int i = 0; i < lengths.length; i++) {
      KernelParameter parameter = parameters.get(i);
      lengths[i] =
          parameter.access().isArray()
              ? length(parameter.type(), arguments.values().get(parameter.name()))
              : -1;
    }
    return lengths;
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
        arrays.add(new LaunchArgument(parameter, here(parameter, value)));
      }
    }
  }

  /**
   * Returns an argument on this device: itself, or a temporary for it. Two arguments for the same
   * memory share a temporary.
   */
  private BufferHandle<?> here(KernelParameter parameter, Object value) {
    BufferHandle<?> own = ofThisManager(value);
    for (LaunchArgument earlier : arrays) {
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
    boolean isRead = isUsed(value, KernelParameter.Access::reads);
    boolean isWritten = isUsed(value, KernelParameter.Access::writes);
    return value instanceof UnifiedBuffer<?> elsewhere
        ? temporaries().standIn(elsewhere, isRead, isWritten)
        : temporaries().standIn(parameter.type(), value, isRead, isWritten);
  }

  private Temporaries temporaries() {
    Temporaries made = temporaries;
    if (made == null) {
      made = new Temporaries(context, allocator);
      temporaries = made;
    }
    return made;
  }

  /** Returns whether an array or buffer is passed for a parameter with a certain access. */
  private boolean isUsed(Object value, Predicate<KernelParameter.Access> access) {
    for (KernelParameter parameter : parameters) {
      if (access.test(parameter.access()) && Overlaps.isSame(values.get(parameter.name()), value)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Copies arrays that are only read and overlap a written array at an offset. Items run in any
   * order, so they must not see each other's writes.
   */
  private void isolateOverlaps() {
    for (int i = 0; i < arrays.size(); i++) {
      for (int j = 0; j < arrays.size(); j++) {
        LaunchArgument other = arrays.get(i);
        LaunchArgument written = arrays.get(j);
        if (i != j && written.isWritten() && Overlaps.clash(written, other)) {
          if (other.isWritten()) {
            throw Overlaps.bothWritten(other.parameter(), written.parameter());
          }
          arrays.set(
              i, new LaunchArgument(other.parameter(), temporaries().copyOf(other.buffer())));
        }
      }
    }
  }

  /** Adds the array in which a program reports that an item has failed, if it does. */
  private void addFaultStatus() {
    if (run.programs().source() instanceof KernelSource.Method
        && range.items() > 0
        && run.programs().program(compiled).reportsFaults()) {
      arrays.add(
          new LaunchArgument(
              CheckedLaunch.PARAMETER,
              temporaries().allocate(ElementType.INT, CheckedLaunch.INTS)));
      reportsFaults = true;
    }
  }

  /** Runs the kernel and returns when it is done. */
  void perform() {
    Temporaries used = temporaries;
    if (used != null) {
      used.copyIn();
    }
    operation().perform(!Thread.currentThread().isVirtual());
    if (used != null) {
      used.copyOut();
    }
  }

  /**
   * Runs the kernel in the background. All parts enter the queues of the buffers now, so the launch
   * may be closed at once.
   */
  CompletableFuture<Void> submit() {
    Temporaries used = temporaries;
    if (used == null || !used.areCopied()) {
      return submitLaunch();
    }
    List<CompletableFuture<Void>> parts = new ArrayList<>();
    used.copyIn(parts);
    parts.add(submitLaunch());
    used.copyOut(parts);
    return context.track(CompositeFuture.of(parts, context.callbackExecutor()));
  }

  private CompletableFuture<Void> submitLaunch() {
    Operation launched = operation();
    LaunchQueues queues = launchQueues();
    if (queues != null) {
      command = new DeviceLaunch(queues, this);
      launched.launching(command);
    }
    run.endsWith(launched);
    return context.submit(launched, run::end);
  }

  /** Returns the queues if the device orders this launch; else null. */
  private @Nullable LaunchQueues launchQueues() {
    if (range.items() == 0
        || !context.isDeviceOrdered()
        || run.programs().source() instanceof KernelSource.Java
        || context.accelerator().kind() == AcceleratorKind.CPU) {
      return null;
    }
    try {
      return context.launchQueues();
    } catch (RuntimeException refused) {
      // The body requests a queue again and fails in the same way, which fails the future.
      return null;
    }
  }

  private Operation operation() {
    List<ResourceAccess> uses =
        arrays.size() == 1
            ? List.of(arrays.getFirst().access())
            : arrays.stream().map(LaunchArgument::access).toList();
    Operation asked =
        Operation.of(uses, context.kernelThreads(), this::launch).retrying(context.retries());
    operation = asked;
    return asked;
  }

  private void launch() {
    Program program = run.programs().program(compiled);
    if (range.items() == 0) {
      return;
    }
    boolean areInPlace = isInPlace;
    // Another attempt, if there is one, looks again.
    isInPlace = false;
    Launch launch = new Launch(program, arguments(areInPlace), range);
    KernelBody.launch(run.programs().source(), parameters, context, running(), () -> run(launch));
  }

  /**
   * Returns whether the program and all blocks are in place. The operation occupies its storages.
   */
  @Override
  public boolean isInPlace() {
    isInPlace = run.programs().latest(compiled) != null && findInPlace();
    return isInPlace;
  }

  private Operation running() {
    return Objects.requireNonNull(operation, "it was asked for");
  }

  /** Looks for the blocks of all arrays. Returns whether all are in place. */
  private boolean findInPlace() {
    boolean all = true;
    for (LaunchArgument array : arrays) {
      all &= array.findInPlace();
    }
    return all;
  }

  private List<KernelArgument> arguments(boolean areInPlace) {
    if (!areInPlace && !findInPlace()) {
      provideMemory();
    }
    int count = parameters.size();
    KernelArgument[] arguments = new KernelArgument[reportsFaults ? count + 1 : count];
    int array = 0;
    for (int i = 0; i < arguments.length; i++) {
      if (i == count || parameters.get(i).access().isArray()) {
        arguments[i] = arrays.get(array).bind();
        array++;
      } else {
        arguments[i] = new KernelArgument.Scalar(scalar(parameters.get(i)));
      }
    }
    return List.of(arguments);
  }

  /** Allocates device memory for all arrays, before the bytes of any are transferred. */
  private void provideMemory() {
    if (arrays.stream().noneMatch(LaunchArgument::lacksMemory)) {
      return;
    }
    // The operation stops occupying its storages, and the blocks that were found may move.
    arrays.forEach(LaunchArgument::forgetBlock);
    MultiBufferAdmission.inTurn(
        running(),
        List.of(context.admission()),
        () ->
            arrays.stream()
                .filter(LaunchArgument::lacksMemory)
                .forEach(LaunchArgument::provideMemory));
  }

  private Object scalar(KernelParameter parameter) {
    Object value = values.get(parameter.name());
    if (value == null) {
      throw new IllegalArgumentException("argument '" + parameter.name() + "' is missing");
    }
    return signature.scalar(parameter, value);
  }

  private void run(Launch launch) {
    // A submitted command is not tried again.
    running().endAttempts();
    CheckedLaunch checked =
        reportsFaults
            ? new CheckedLaunch(
                (KernelSource.Method) run.programs().source(),
                launch,
                context.link(),
                this::explained)
            : null;
    try {
      if (command != null) {
        submit(command, launch, checked);
        submitted();
        return;
      }
      if (checked != null) {
        checked.perform(context.link().compute());
      } else {
        DeviceLink.finish(context.link().compute().launch(launch));
      }
    } catch (RuntimeException e) {
      arrays.forEach(LaunchArgument::writeFailed);
      throw checked == null ? explained(e) : e;
    } catch (Error e) {
      arrays.forEach(LaunchArgument::writeFailed);
      throw e;
    }
    arrays.forEach(LaunchArgument::written);
  }

  /** Adds a hint to a failed index if the caller gave no range, which may be the cause. */
  private RuntimeException explained(RuntimeException failure) {
    return !isRangeAsked
            && failure instanceof ArrayIndexOutOfBoundsException outside
            && run.programs().source() instanceof KernelSource.Method
        ? Faults.withoutRange(outside, range.items())
        : failure;
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

  // By index, here and below: a command is under way, and the heap may be full.
  private void submitted() {
    for (int i = 0; i < arrays.size(); i++) {
      arrays.get(i).submitted();
    }
  }

  @Override
  public void settled(@Nullable Throwable failure) {
    for (int i = 0; i < arrays.size(); i++) {
      arrays.get(i).settled(failure != null);
    }
  }

  /** Closes the temporaries, which are freed when all submitted parts are done. */
  @Override
  public void close() {
    if (temporaries != null) {
      temporaries.close();
    }
  }
}
