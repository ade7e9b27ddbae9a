package dev.tidepool.methods.jvm;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnsupportedKernelException;
import dev.tidepool.methods.analysis.LoopChecks;
import dev.tidepool.methods.analysis.PrivateArrays;
import dev.tidepool.methods.analysis.ShortLoops;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelTree;
import java.lang.classfile.ClassFile;
import java.lang.classfile.attribute.CodeAttribute;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A kernel that is written as a Java method, as bytecode for this virtual machine. Safe for use by
 * several threads at once.
 *
 * <p>Arrays in memory that cannot be freed during a launch are accessed by address, with a test of
 * each index. If one array of a launch is in other memory, all are accessed as segments, which test
 * indices themselves, or are tested once in front of a loop. No kernel accesses memory outside of
 * its arguments. A second version has constant loop bounds, for launches with the values of the
 * first launch.
 */
public final class JvmKernel {
  private static final System.Logger LOG = System.getLogger("dev.tidepool.kernels");

  /** HotSpot's {@code HugeMethodLimit}. */
  private static final int COMPILED_BYTES = 8000;

  private final KernelTree tree;
  private final LoopBounds bounds;
  private final Versions byAddress;

  /** Created on first use. */
  private volatile @Nullable Versions bySegment;

  /**
   * The steps of the code.
   *
   * @param tested the number of loops with one test in front
   * @param writtenOut the number of unrolled loops
   */
  private record Steps(List<Step> list, int tested, int writtenOut) {}

  /**
   * A version of the kernel.
   *
   * @param bytes an upper bound of the length of the bytecode
   */
  private record Compiled(Steps steps, KernelPlan plan, KernelCode code, int bytes) {}

  private record Fixed(List<Long> values, Compiled compiled) {}

  /** The code for memory that is accessed by address, or as segments. */
  private final class Versions {
    private final boolean addresses;
    final Compiled any;

    /** The version for the loop bounds of the first launch, which later launches often have. */
    private volatile @Nullable Fixed fixed;

    Versions(boolean addresses) {
      this.addresses = addresses;
      any = compiled(tree, addresses);
    }

    Compiled of(@Nullable Object[] scalars) {
      List<Long> values = bounds.values(tree, scalars);
      if (values.isEmpty()) {
        return any;
      }
      Fixed known = fixed;
      if (known == null) {
        known = fix(values);
      }
      return known.values().equals(values) ? known.compiled() : any;
    }

    private synchronized Fixed fix(List<Long> values) {
      Fixed known = fixed;
      if (known == null) {
        Compiled version;
        try {
          version = compiled(bounds.fixed(tree, values), addresses);
        } catch (KernelCompilationException e) {
          // This version is somewhat longer than the first, and too long.
          version = any;
        }
        known = new Fixed(values, version);
        fixed = known;
      }
      return known;
    }
  }

  private JvmKernel(KernelTree tree) {
    this.tree = tree;
    this.bounds = LoopBounds.of(tree);
    this.byAddress = new Versions(AllMemory.isUsable());
    warnIfInterpreted();
  }

  private void warnIfInterpreted() {
    int bytes = byAddress.any.bytes();
    if (bytes > COMPILED_BYTES) {
      LOG.log(
          System.Logger.Level.WARNING,
          "kernel {0}.{1} has {2} bytes of bytecode with all methods that it calls. HotSpot"
              + " compiles no method of more than {3}, so it is slow on the processor: call long"
              + " methods at fewer places, make it several kernels, or run Java with"
              + " -XX:-DontCompileHugeMethods",
          tree.className(),
          tree.methodName(),
          String.valueOf(bytes),
          String.valueOf(COMPILED_BYTES));
    }
  }

  private Steps steps(KernelTree kernel, boolean writesOut, boolean addresses) {
    ShortLoops shortLoops = new ShortLoops(kernel.labels());
    List<Step> steps = BarrierFission.of(kernel);
    if (writesOut) {
      steps = BarrierFission.mapped(steps, shortLoops::writtenOut);
    }
    PrivateArrays arrays = new PrivateArrays(kernel.variables());
    BarrierFission.forEachItems(steps, items -> arrays.note(items.body()));
    steps = BarrierFission.mapped(steps, arrays::replaced);
    if (addresses) {
      // HotSpot moves the tests of int indices out of loops by itself, and vectorises more of them.
      return new Steps(steps, 0, shortLoops.loops());
    }
    int[] labels = {shortLoops.labels()};
    int[] tested = {0};
    steps =
        BarrierFission.mapped(
            steps,
            body -> {
              LoopChecks.Result result = LoopChecks.of(body, labels[0]);
              labels[0] = result.labels();
              tested[0] += result.loops();
              return result.body();
            });
    return new Steps(steps, tested[0], shortLoops.loops());
  }

  /**
   * Generates and loads the code of a kernel. This takes milliseconds, so keep the result.
   *
   * @throws KernelCompilationException if not all items of a group reach a barrier together
   * @throws UnsupportedKernelException if the kernel is too long
   */
  public static JvmKernel compile(KernelTree tree) {
    return new JvmKernel(tree);
  }

  /** Compiles a kernel; does not unroll loops if HotSpot would then not compile the kernel. */
  private Compiled compiled(KernelTree kernel, boolean addresses) {
    Steps writtenOut = steps(kernel, true, addresses);
    if (writtenOut.writtenOut() > 0) {
      try {
        Compiled version = compiled(writtenOut, kernel, addresses);
        if (version.bytes() <= COMPILED_BYTES) {
          return version;
        }
      } catch (KernelCompilationException e) {
        // The kernel may be short enough without unrolled loops.
        LOG.log(System.Logger.Level.DEBUG, "loops are not written out", e);
      }
      return compiled(steps(kernel, false, addresses), kernel, addresses);
    }
    return compiled(writtenOut, kernel, addresses);
  }

  private Compiled compiled(Steps steps, KernelTree kernel, boolean addresses) {
    KernelPlan plan = new KernelPlan(kernel, steps.list(), addresses);
    byte[] bytes;
    try {
      bytes = KernelWriter.classFile(plan);
    } catch (IllegalArgumentException e) {
      if (!String.valueOf(e.getMessage()).startsWith("Code length")) {
        throw e;
      }
      UnsupportedKernelException refusal =
          new UnsupportedKernelException(
              "kernel %s.%s is too long for a method of this virtual machine (%s); make it several kernels"
                  .formatted(tree.className(), tree.methodName(), e.getMessage()));
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
      return new Compiled(steps, plan, code, bytecode(bytes));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("the code generated for " + tree.methodName() + " was refused", e);
    }
  }

  /**
   * Returns the code length of a class's longest method, or the length of the whole class file if
   * that is short.
   */
  private static int bytecode(byte[] classFile) {
    return classFile.length <= COMPILED_BYTES
        ? classFile.length
        : ClassFile.of().parse(classFile).methods().stream()
            .map(method -> (CodeAttribute) method.code().orElseThrow())
            .mapToInt(CodeAttribute::codeLength)
            .max()
            .orElseThrow();
  }

  /**
   * Runs the groups {@code fromGroup} (inclusive) to {@code toGroup} (exclusive) of a range, as
   * {@link GroupGrid} numbers them.
   *
   * @param held whether all arrays are native memory that stays until the call returns. If memory
   *     is released early, the call throws if the memory is not held, and the process ends if it is
   *     held
   * @param arrays for each parameter the memory of the array; null for scalars
   * @param scalars for each parameter the {@link Number} or {@link Boolean}; null for arrays
   * @throws ArrayIndexOutOfBoundsException if an index is outside of an array
   * @throws ArithmeticException if an integer is divided by zero
   */
  public void run(
      boolean held,
      @Nullable MemorySegment[] arrays,
      @Nullable Object[] scalars,
      LaunchRange range,
      long fromGroup,
      long toGroup) {
    try {
      execute(held, arrays, scalars, range, fromGroup, toGroup);
    } catch (KernelFault fault) {
      throw fault.exception(tree.sites());
    }
  }

  /**
   * Runs all groups of a range, and reports a failed item as a device does.
   *
   * @param status four ints, all 0, as {@link dev.tidepool.spi.Program#reportsFaults} describes
   *     them
   */
  public void report(
      @Nullable MemorySegment[] arrays,
      @Nullable Object[] scalars,
      LaunchRange range,
      MemorySegment status) {
    try {
      execute(false, arrays, scalars, range, 0, new GroupGrid(range).groups());
    } catch (KernelFault fault) {
      fault.report(status);
    }
  }

  private void execute(
      boolean held,
      @Nullable MemorySegment[] arrays,
      @Nullable Object[] scalars,
      LaunchRange range,
      long fromGroup,
      long toGroup) {
    Compiled compiled = (held ? byAddress : bySegment()).of(scalars);
    KernelPlan plan = compiled.plan();
    for (KernelArray.Argument array : plan.atomics()) {
      MemorySegment segment = arrays[array.index()];
      if (segment != null && segment.maxByteAlignment() < array.kind().bytes()) {
        throw new IllegalArgumentException(
            "argument '%s' of kernel %s starts at an address that atomic steps on %s bytes do not work at; copy it to a buffer of its own"
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

  /** Returns how the kernel was compiled, for reports. */
  public String description() {
    Steps steps = byAddress.any.steps();
    String loops =
        counted(steps.writtenOut(), " written out")
            + counted(steps.tested(), " with one index test");
    int[] parts = {0};
    BarrierFission.forEachItems(steps.list(), _ -> parts[0]++);
    String barriers = parts[0] <= 1 ? "" : ", " + parts[0] + " parts between barriers";
    String memory =
        byAddress.addresses
            ? "by address, over memory of others as segments"
            : "over all memory as segments, as this process may not use native memory by address"
                + " (--enable-native-access)";
    return "generated code of %s.%s %s%s%s"
        .formatted(tree.className(), tree.methodName(), memory, loops, barriers);
  }

  private static String counted(int loops, String how) {
    return loops == 0 ? "" : ", " + loops + (loops == 1 ? " loop" : " loops") + how;
  }

  private Versions bySegment() {
    Versions known = bySegment;
    return known == null ? makeBySegment() : known;
  }

  private synchronized Versions makeBySegment() {
    Versions known = bySegment;
    if (known == null) {
      known = new Versions(false);
      bySegment = known;
    }
    return known;
  }
}
