package dev.tidepool.methods.jvm;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.LaunchRange;
import dev.tidepool.methods.analysis.LoopChecks;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelTree;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A kernel that was a Java method, as code of this virtual machine. Safe for use by all threads at
 * once.
 *
 * <p>Arrays are used as buffers with an int index, which the virtual machine's compiler knows best;
 * behind a test that replaces the checks of a loop, and where an array has 2 GiB or more, as
 * segments. Both check every access, so that no kernel reaches memory outside of its arguments.
 */
public final class JvmKernel {
  private final KernelTree tree;
  private final boolean checked;
  private final List<Step> steps;

  /** Loops with one test in front. */
  private int loops;

  private final Compiled small;

  /** For arrays that no view reaches; made when it is first needed. */
  private volatile @Nullable Compiled large;

  private record Compiled(KernelPlan plan, KernelCode code) {}

  private JvmKernel(KernelTree tree, boolean checked) {
    this.tree = tree;
    this.checked = checked;
    List<Step> whole = BarrierFission.of(tree);
    if (checked) {
      int[] labels = {tree.labels()};
      this.steps =
          BarrierFission.mapped(
              whole,
              body -> {
                LoopChecks.Result result = LoopChecks.of(body, labels[0], true);
                labels[0] = result.labels();
                loops += result.loops();
                return result.body();
              });
    } else {
      this.steps = whole;
    }
    this.small = compiled(true);
  }

  /**
   * Generates and loads the code of a kernel: milliseconds, so keep the result.
   *
   * @param checked whether each access has its own test, so that a fault names the source
   * @throws KernelCompilationException if a barrier stands where not all items of a group come, or
   *     the kernel is too long
   */
  public static JvmKernel compile(KernelTree tree, boolean checked) {
    return new JvmKernel(tree, checked);
  }

  private Compiled compiled(boolean views) {
    KernelPlan plan = new KernelPlan(tree, steps, checked, views);
    byte[] bytes;
    try {
      bytes = KernelWriter.classFile(plan);
    } catch (IllegalArgumentException e) {
      if (!String.valueOf(e.getMessage()).startsWith("Code length")) {
        throw e;
      }
      KernelCompilationException refusal =
          new KernelCompilationException(
              "kernel %s.%s is too long for a method of this virtual machine (%s); make it several kernels"
                  .formatted(tree.className(), tree.methodName(), e.getMessage()),
              "");
      refusal.initCause(e);
      throw refusal;
    }
    try {
      KernelCode code =
          (KernelCode)
              MethodHandles.lookup()
                  .defineHiddenClass(bytes, true)
                  .lookupClass()
                  .getDeclaredConstructor()
                  .newInstance();
      return new Compiled(plan, code);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("the code generated for " + tree.methodName() + " was refused", e);
    }
  }

  /**
   * Runs the groups {@code fromGroup} (inclusive) to {@code toGroup} (exclusive) of a range, as
   * {@link GroupGrid} numbers them.
   *
   * @param arrays for each parameter the bytes of the array; null for scalars
   * @param scalars for each parameter the {@link Number} or {@link Boolean}; null for arrays
   * @throws ArrayIndexOutOfBoundsException if an index is outside of an array
   * @throws ArithmeticException if an integer is divided by zero
   */
  public void run(
      @Nullable MemorySegment[] arrays,
      @Nullable Object[] scalars,
      LaunchRange range,
      long fromGroup,
      long toGroup) {
    try {
      execute(arrays, scalars, range, fromGroup, toGroup);
    } catch (KernelFault fault) {
      throw fault.exception(tree.sites());
    }
  }

  /**
   * Runs all groups of a range, and tells of a failed item as a device does.
   *
   * @param status four ints, all 0, as {@link dev.tidepool.spi.Program#reportsFaults} has them
   */
  public void report(
      @Nullable MemorySegment[] arrays,
      @Nullable Object[] scalars,
      LaunchRange range,
      MemorySegment status) {
    try {
      execute(arrays, scalars, range, 0, new GroupGrid(range).groups());
    } catch (KernelFault fault) {
      fault.report(status);
    }
  }

  private void execute(
      @Nullable MemorySegment[] arrays,
      @Nullable Object[] scalars,
      LaunchRange range,
      long fromGroup,
      long toGroup) {
    Compiled compiled = compiledFor(arrays);
    KernelPlan plan = compiled.plan();
    for (KernelArray.Argument array : plan.atomics()) {
      MemorySegment segment = arrays[array.index()];
      if (segment != null && segment.maxByteAlignment() < array.kind().bytes()) {
        throw new IllegalArgumentException(
            "argument '%s' of kernel %s starts at an address that atomic steps on %d bytes do not work at; copy it to a buffer of its own"
                .formatted(array.name(), tree.methodName(), array.kind().bytes()));
      }
    }
    GroupGrid grid = new GroupGrid(range);
    Object[] memory = plan.memory().memory(arrays, grid.groupItems());
    long[] numbers = plan.memory().numbers(arrays, scalars);
    KernelCode code = compiled.code();
    if (plan.usesGroups()) {
      grid.forEachGroup(fromGroup, toGroup, box -> code.run(memory, numbers, box));
    } else {
      grid.forEachBox(fromGroup, toGroup, box -> code.run(memory, numbers, box));
    }
  }

  /** How the kernel was made, for reports. */
  public String description() {
    String loops =
        this.loops == 0
            ? ""
            : ", " + this.loops + (this.loops == 1 ? " loop" : " loops") + " with one index test";
    int[] parts = {0};
    BarrierFission.forEachItems(steps, _ -> parts[0]++);
    String barriers = parts[0] <= 1 ? "" : ", " + parts[0] + " parts between barriers";
    return "generated code of %s.%s over buffers with an int index (segments from 2 GiB on)%s%s%s"
        .formatted(
            tree.className(), tree.methodName(), checked ? "" : ", unchecked", loops, barriers);
  }

  private Compiled compiledFor(@Nullable MemorySegment[] arrays) {
    for (MemorySegment array : arrays) {
      if (array != null && !hasView(array)) {
        Compiled known = large;
        if (known == null) {
          known = compiled(false);
          large = known;
        }
        return known;
      }
    }
    return small;
  }

  private static boolean hasView(MemorySegment array) {
    return array.byteSize() <= Integer.MAX_VALUE
        && (array.isNative() || array.heapBase().orElse(null) instanceof byte[]);
  }
}
