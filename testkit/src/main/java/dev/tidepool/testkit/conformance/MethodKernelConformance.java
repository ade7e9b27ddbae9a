package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.spi.support.Uninterruptibly;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Java methods as kernels compute the same as calls of the methods. */
public abstract class MethodKernelConformance extends Topic {
  private static final MethodHandles.Lookup LOOKUP = lookup();

  private static MethodHandles.Lookup lookup() {
    try {
      return MethodHandles.privateLookupIn(MethodKernels.class, MethodHandles.lookup());
    } catch (IllegalAccessException e) {
      throw new AssertionError("both are in one package", e);
    }
  }

  /** Returns the kernels of the suite, for tests of generated code. */
  public static List<KernelSource.Method> kernels() {
    return Stream.concat(kernels(LOOKUP), kernels(GroupKernelConformance.LOOKUP)).toList();
  }

  private static Stream<KernelSource.Method> kernels(MethodHandles.Lookup lookup) {
    return Arrays.stream(lookup.lookupClass().getDeclaredMethods())
        .filter(method -> method.getReturnType() == void.class && !method.isSynthetic())
        .map(Method::getName)
        .sorted()
        .map(name -> KernelSource.method(lookup, name));
  }

  /** Compiles a kernel, or skips the test: without a compiler, only code already compiled runs. */
  private Kernel compiled(String method) {
    return compiled(KernelSource.method(LOOKUP, method));
  }

  private Kernel compiled(KernelSource.Method method) {
    try {
      return memory().compile(method);
    } catch (UnsupportedOperationException noCompiler) {
      return abort("no compiler: " + noCompiler.getMessage());
    }
  }

  /** Calls a method and runs it as a kernel with equal arguments, and compares all arrays. */
  private void check(String method, LaunchRange range, Object... arguments) {
    check(method, compiled(method), range, arguments);
  }

  private void check(String method, Kernel kernel, LaunchRange range, Object... arguments) {
    Object[] plain = copies(arguments);
    runPlainly(method, range, plain);
    kernel.execute(Arguments.inOrder(arguments), range);
    for (int i = 0; i < arguments.length; i++) {
      assertThat(shown(arguments[i])).as("argument %s of %s", i, method).isEqualTo(shown(plain[i]));
    }
  }

  /**
   * Returns every element, NaNs without their payload, and zeros for floats that may be flushed.
   */
  private String shown(Object value) {
    if (!value.getClass().isArray()) {
      return value.toString();
    }
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < Array.getLength(value); i++) {
      text.append(i).append(": ").append(shownElement(Array.get(value, i))).append("\n");
    }
    return text.toString();
  }

  private Object shownElement(Object element) {
    return element instanceof Float number
            && Math.abs(number) < Float.MIN_NORMAL
            && !bench().can(Capability.FLOAT_SUBNORMALS)
        ? Math.copySign(0f, number)
        : element;
  }

  private static Object[] copies(Object[] arguments) {
    Object[] copies = arguments.clone();
    for (int i = 0; i < copies.length; i++) {
      if (copies[i].getClass().isArray()) {
        int length = Array.getLength(copies[i]);
        Object copy = Array.newInstance(copies[i].getClass().getComponentType(), length);
        System.arraycopy(copies[i], 0, copy, 0, length);
        copies[i] = copy;
      }
    }
    return copies;
  }

  private static void runPlainly(String name, LaunchRange range, Object[] arguments) {
    Method method =
        Arrays.stream(MethodKernels.class.getDeclaredMethods())
            .filter(declared -> declared.getName().equals(name))
            .findFirst()
            .orElseThrow();
    long width = range.global().getFirst();
    long height = range.global().size() > 1 ? range.global().get(1) : 1;
    Object[] all = new Object[arguments.length + 1];
    System.arraycopy(arguments, 0, all, 1, arguments.length);
    for (long y = 0; y < height; y++) {
      for (long x = 0; x < width; x++) {
        all[0] =
            method.getParameterTypes()[0] == WorkItem.class ? WorkItem.of(x, y) : (Object) (int) x;
        try {
          method.invoke(null, all);
        } catch (ReflectiveOperationException e) {
          throw new LinkageError(name + " cannot be called", e);
        }
      }
    }
  }

  private static int[] ints(int length, long seed) {
    int[] edges = {0, 1, -1, 2, 31, 33, -7, Integer.MAX_VALUE, Integer.MIN_VALUE, 1 << 16};
    Random random = new Random(seed);
    int[] values = new int[length];
    for (int i = 0; i < length; i++) {
      values[i] = i % 3 == 0 ? random.nextInt() : edges[random.nextInt(edges.length)];
    }
    return values;
  }

  private static double[] doubles(int length, long seed) {
    double[] edges = {
      0.0,
      -0.0,
      1,
      -1,
      0.5,
      -0.5,
      1.5,
      2.5,
      -2.5,
      0.49999997,
      1e10,
      -1e10,
      3e38,
      1e-20,
      Double.NaN,
      Double.POSITIVE_INFINITY,
      Double.NEGATIVE_INFINITY,
      2147483647.5,
      -9.3e18,
      1e300,
      7,
      -3
    };
    Random random = new Random(seed);
    double[] values = new double[length];
    for (int i = 0; i < length; i++) {
      values[i] = i % 3 == 0 ? random.nextGaussian() : edges[random.nextInt(edges.length)];
    }
    return values;
  }

  private static float[] floats(int length, long seed) {
    float[] values = new float[length];
    double[] wide = doubles(length, seed);
    for (int i = 0; i < length; i++) {
      values[i] = (float) wide[i];
    }
    return values;
  }

  @Test
  void aLoopOverARowForEachItem() {
    check("dot", LaunchRange.of(777), 33, pattern(777 * 33, 1), pattern(33, 2), new float[777]);
  }

  @Test
  void itsIndexIsTheFirstParameter() {
    check("saxpy", LaunchRange.of(1009), 2.5f, pattern(1009, 1), pattern(1009, 2));
  }

  @Test
  void twoDimensions() {
    float[] in = floats(37 * 61, 1);
    check("transposed", LaunchRange.of(61, 37), 37, 61, in, new float[in.length]);
  }

  @Test
  void integersWrapAndShiftsAreMasked() {
    check("ints", LaunchRange.of(2000), ints(2000, 1), ints(2000, 2), new int[24_000]);
    long[] a = Arrays.stream(ints(2000, 3)).mapToLong(value -> value * 0x1_0000_0003L).toArray();
    long[] b = Arrays.stream(ints(2000, 4)).mapToLong(value -> (long) value << 32).toArray();
    a[1] = Long.MIN_VALUE;
    b[1] = -1;
    check("longs", LaunchRange.of(2000), a, b, new long[16_000]);
  }

  @Test
  void floatingPointIsJavas() {
    check("floats", LaunchRange.of(3000), floats(3000, 1), floats(3000, 2), new float[36_000]);
  }

  @Test
  void floatingPointOf64BitsIsJavasOrRefusedByName() {
    if (bench().can(Capability.FLOAT64)) {
      check(
          "doubles", LaunchRange.of(3000), doubles(3000, 3), doubles(3000, 4), new double[27_000]);
    } else {
      assertThatThrownBy(() -> compiled("doubles"))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("MethodKernels.doubles needs 64-bit floating point");
    }
  }

  @Test
  void booleansAndShortIntegersAreNarrowed() {
    boolean[] flags = new boolean[300];
    byte[] bytes = new byte[300];
    short[] shorts = new short[300];
    new Random(5).nextBytes(bytes);
    for (int i = 0; i < 300; i++) {
      flags[i] = i % 3 == 0;
      shorts[i] = (short) (i * 997);
    }
    check("smallTypes", LaunchRange.of(300), flags, bytes, shorts, true);
  }

  @Test
  void loopsOverAnArrayOfTheItem() {
    check("ownArray", LaunchRange.of(100), new long[100]);
  }

  @Test
  void constantsThatAreRounded() {
    check("constantRint", LaunchRange.of(100), new float[100]);
  }

  @Test
  void constantsAndValuesThatAreRoundedInBothPrecisions() {
    assumeTrue(bench().can(Capability.FLOAT64), "this accelerator has no 64-bit floats");
    check("constantsRounded", LaunchRange.of(60), new double[480], new float[240], new long[240]);
  }

  @Test
  void loopsSwitchesLabelsAndCalls() {
    int[] x = ints(500, 9);
    check("controlFlow", LaunchRange.of(500), x, new int[500]);
  }

  @Test
  void arraysOfAnItemAndOfItsGroupInLoops() {
    check("arraysOfItsOwn", LaunchRange.of(50), 9, pattern(16, 1), new float[50]);
  }

  @Test
  void anIndexOutsideInALaunchWithoutARangeSaysHowManyItemsRan() {
    Kernel gather = compiled("gather");
    Arguments wrong =
        Arguments.of("indices", new int[] {2, 5, 0}, "x", new float[3], "y", new float[3]);
    String outside = "Index 5 out of bounds for length 3 of 'x'";
    String items =
        "; the launch had no range, so 3 items ran, one for each element of the longest array";
    assertThatThrownBy(() -> gather.execute(wrong, LaunchRange.of(3))).hasMessage(outside);
    assertThatThrownBy(() -> gather.execute(wrong)).hasMessage(outside + items);
    assertThatThrownBy(() -> gather.executeAsync(wrong).join()).cause().hasMessage(outside + items);
  }

  @Test
  void anIndexOutsideOfAnArrayIsSaidWithItsLine() {
    Kernel gather = compiled("gather");
    float[] y = {7, 8, 9};
    Arguments wrong =
        Arguments.of("indices", new int[] {2, 5, 0}, "x", new float[] {1, 2, 3}, "y", y);
    assertThatThrownBy(() -> gather.execute(wrong))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class)
        .hasMessageContaining("5")
        .hasMessageContaining("length 3")
        .hasMessageContaining("'x'")
        .satisfies(
            thrown -> {
              StackTraceElement top = thrown.getStackTrace()[0];
              assertThat(top.getMethodName()).isEqualTo("gather");
              assertThat(top.getClassName()).isEqualTo(MethodKernels.class.getName());
              assertThat(top.getLineNumber()).isPositive();
            });
    assertThat(y).as("arrays are not copied back").containsExactly(7, 8, 9);
    gather.execute(wrong.with("indices", new int[] {2, 1, 0}));
    assertThat(y).containsExactly(3, 2, 1);
  }

  @Test
  void aDivisionByZeroIsSaidWithItsLine() {
    Kernel quotients = compiled("quotients");
    int[] out = new int[3];
    int[] a = {7, Integer.MIN_VALUE, 9};
    assertThatThrownBy(() -> quotients.execute(Arguments.inOrder(a, new int[] {2, -1, 0}, out)))
        .isInstanceOf(ArithmeticException.class)
        .hasMessage("/ by zero")
        .satisfies(
            thrown -> assertThat(thrown.getStackTrace()[0].getMethodName()).isEqualTo("quotients"));
    quotients.execute(Arguments.inOrder(a, new int[] {2, -1, 4}, out));
    assertThat(out).containsExactly(3, Integer.MIN_VALUE, 2);
  }

  @Test
  void loopsWithAFaultAtEitherEndLeaveTheMemoryAroundTheirSliceAlone() {
    checkFaultInSlice("fillDown", 99, 0, 99);
    checkFaultInSlice("fillDown", 9, -90, -1);
    checkFaultInSlice("fillUp", -90, 9, -90);
    checkFaultInSlice("fillUp", 0, 99, 10);
    checkFaultInSlice("fillMirrored", 0, 99, -1);
    checkFaultInSlice("fillMirrored", -90, 9, 99);
    checkFaultInSlice("fillDownInTwoLoops", 9, 0, 19);
    checkFaultInSlice("fillDownInTwoLoops", -1, -9, -1);
  }

  /** Runs a loop on a slice of ten elements inside a buffer. */
  private void checkFaultInSlice(String method, int from, int to, int index) {
    String loop = "%s from %s to %s".formatted(method, from, to);
    UnifiedBuffer<float[]> whole = patterned(300, MemoryLocation.DEVICE, 1);
    try (UnifiedBuffer<float[]> slice = whole.slice(120, 10)) {
      Kernel kernel = compiled(method);
      assertThatThrownBy(
              () -> kernel.execute(Arguments.inOrder(from, to, slice), LaunchRange.of(1)))
          .as(loop)
          .isInstanceOf(ArrayIndexOutOfBoundsException.class)
          .hasMessage("Index %s out of bounds for length 10 of 'x'", index)
          .satisfies(
              thrown -> {
                StackTraceElement top = thrown.getStackTrace()[0];
                assertThat(top.getMethodName()).isEqualTo(method);
                assertThat(top.getLineNumber()).isPositive();
              });
      // The contents of the slice after a fault are undefined.
      slice.copyFrom(new float[10]);
    }
    float[] expected = pattern(300, 1);
    Arrays.fill(expected, 120, 130, 0);
    Patterns.assertEqual(contents(whole), expected, loop);
  }

  @Test
  void withoutChecksKernelsComputeWhatTheirMethodsDo() {
    checkUnchecked(
        "dot", LaunchRange.of(777), 33, pattern(777 * 33, 1), pattern(33, 2), new float[777]);
    checkUnchecked("ints", LaunchRange.of(500), ints(500, 1), ints(500, 2), new int[6000]);
    checkUnchecked("controlFlow", LaunchRange.of(500), ints(500, 9), new int[500]);
    checkUnchecked("arraysOfItsOwn", LaunchRange.of(50), 9, pattern(16, 1), new float[50]);
    checkUnchecked("fillDown", LaunchRange.of(1), 8, 2, new float[10]);
  }

  private void checkUnchecked(String method, LaunchRange range, Object... arguments) {
    Kernel unchecked = compiled(KernelSource.method(LOOKUP, method).unchecked());
    check(method, unchecked, range, arguments);
  }

  @Test
  void withoutChecksADivisionByZeroHarmsNoOtherItem() {
    Kernel quotients = compiled(KernelSource.method(LOOKUP, "quotients").unchecked());
    int[] a = {7, Integer.MIN_VALUE, 9};
    int[] out = {-1, -1, -1};
    try {
      quotients.execute(Arguments.inOrder(a, new int[] {2, -1, 0}, out));
      assertThat(out).startsWith(3, Integer.MIN_VALUE);
    } catch (ArithmeticException ofTheVirtualMachine) {
      assertThat(out).as("arrays are not copied back").containsExactly(-1, -1, -1);
    }
    quotients.execute(Arguments.inOrder(a, new int[] {2, -1, 4}, out));
    assertThat(out).containsExactly(3, Integer.MIN_VALUE, 2);
  }

  @Test
  void whatIsQueuedBehindAFaultFailsWithIt() {
    Kernel gather = compiled("gather");
    Kernel saxpy = compiled("saxpy");
    int length = 1000;
    int[] indices = new int[length];
    Arrays.fill(indices, length);
    UnifiedBuffer<float[]> y = patterned(length, MemoryLocation.DEVICE, 1);
    CountDownLatch go = new CountDownLatch(1);
    // The fault is not known before the next launch is queued.
    UnifiedBuffer<float[]> x = held(length, go);
    CompletableFuture<Void> first =
        gather.executeAsync(Arguments.of("indices", indices, "x", x, "y", y));
    CompletableFuture<Void> behind =
        saxpy.executeAsync(Arguments.of("a", 2f, "x", new float[length], "y", y));
    go.countDown();
    Throwable fault = catchThrowable(first::join);
    assertThat(fault)
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(ArrayIndexOutOfBoundsException.class);
    assertThatThrownBy(behind::join).hasRootCause(fault.getCause());
    y.copyFrom(pattern(length, 3));
    saxpy.execute(Arguments.of("a", 1f, "x", new float[length], "y", y));
    Patterns.assertEqual(contents(y), pattern(length, 3), "it works again");
  }

  /** Returns a buffer of the processor that a kernel uses until a latch is open. */
  private UnifiedBuffer<float[]> held(int length, CountDownLatch go) {
    Accelerator processor =
        bench().tidepool().accelerators().stream()
            .filter(each -> each.capabilities().contains(Capability.JAVA_KERNELS))
            .findFirst()
            .orElseThrow();
    UnifiedMemoryManager memory = bench().manager(processor, MemoryOptions.defaults());
    UnifiedBuffer<float[]> buffer = bench().owned(memory.copyOf(new float[length]));
    KernelSource waiting =
        KernelSource.java(
            _ -> Uninterruptibly.await(go::await), KernelParameter.inout("x", ElementType.FLOAT));
    var _ = memory.compile(waiting).executeAsync(Arguments.of("x", buffer), LaunchRange.of(1));
    return buffer;
  }

  @Test
  void slicesAtOddOffsets() {
    UnifiedBuffer<float[]> x = patterned(1003, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> y = patterned(1003, MemoryLocation.DEVICE, 2);
    float[] plainX = Arrays.copyOfRange(pattern(1003, 1), 501, 580);
    float[] plainY = Arrays.copyOfRange(pattern(1003, 2), 3, 82);
    runPlainly("saxpy", LaunchRange.of(79), new Object[] {-1f, plainX, plainY});
    try (UnifiedBuffer<float[]> from = x.slice(501, 79);
        UnifiedBuffer<float[]> to = y.slice(3, 79)) {
      compiled("saxpy").execute(Arguments.of("a", -1f, "x", from, "y", to));
      Patterns.assertEqual(contents(to), plainY, "the slice");
    }
  }

  @Test
  void anArrayThatIsWhollyWrittenIsNotBrought() {
    UnifiedBuffer<float[]> y = patterned(5, MemoryLocation.HOST, 1);
    UnifiedBuffer<int[]> indices = buffer(ElementType.INT, 5, MemoryLocation.HOST);
    indices.copyFrom(new int[] {4, 3, 2, 1, 0});
    UnifiedBuffer<float[]> x = buffer(ElementType.FLOAT, 5, MemoryLocation.HOST);
    x.copyFrom(new float[] {1, 2, 3, 4, 5});
    Kernel gather = compiled("gather");
    Arguments arguments = Arguments.inOrder(indices, x, y);
    long brought = broughtBy(() -> gather.execute(arguments));
    assertThat(brought).isEqualTo(bench().sharesMemory() ? 0 : indices.byteSize() + x.byteSize());
    assertThat(contents(y)).containsExactly(5, 4, 3, 2, 1);
    // If there are fewer items than elements, the other elements keep their values.
    brought =
        broughtBy(
            () -> {
              y.copyFrom(new float[] {9, 9, 9, 9, 9});
              gather.execute(arguments, LaunchRange.of(2));
            });
    assertThat(brought).isEqualTo(bench().sharesMemory() ? 0 : y.byteSize());
    assertThat(contents(y)).containsExactly(5, 4, 9, 9, 9);
  }

  /** Returns the bytes that an operation transfers to the device. */
  private long broughtBy(Runnable work) {
    long before = bench().moved().hostToDeviceBytes();
    work.run();
    return bench().moved().hostToDeviceBytes() - before;
  }

  @Test
  void oneArrayUnderTwoNamesIsOneArray() {
    int[] stored = new int[100];
    int[] expected = new int[100];
    for (int i = 0; i < 100; i++) {
      MethodKernels.loadsWhatItStored(i, stored, stored, expected);
    }
    int[] one = new int[100];
    int[] loaded = new int[100];
    compiled("loadsWhatItStored").execute(Arguments.inOrder(one, one, loaded));
    assertThat(loaded).containsExactly(expected);
    assertThat(one).containsExactly(stored);
    try (UnifiedBuffer<int[]> buffer = memory().copyOf(new int[100])) {
      compiled("loadsWhatItStored").execute(Arguments.inOrder(buffer, buffer, loaded));
      assertThat(loaded).containsExactly(expected);
    }
    Kernel inBackground = compiled("loadsWhatItStored");
    Arrays.fill(loaded, 0);
    Arrays.fill(one, 0);
    inBackground.executeAsync(Arguments.inOrder(one, one, loaded)).join();
    assertThat(loaded).containsExactly(expected);
    assertThat(one).containsExactly(stored);
  }

  @Test
  void oneArrayThatIsWrittenUnderTwoNamesIsOneArray() {
    int[] expected = new int[100];
    for (int i = 0; i < 100; i++) {
      MethodKernels.storesTwice(i, expected, expected);
    }
    int[] one = new int[100];
    compiled("storesTwice").execute(Arguments.inOrder(one, one));
    assertThat(one).containsExactly(expected);
    try (UnifiedBuffer<int[]> buffer = memory().copyOf(new int[100])) {
      compiled("storesTwice").execute(Arguments.inOrder(buffer, buffer));
      assertThat(contents(buffer)).containsExactly(expected);
    }
  }

  /** Each argument of another manager is copied separately. */
  @Test
  void partsOfAnotherManagersBufferDoNotOverlapWhereOneIsWritten() {
    for (UnifiedMemoryManager other : bench().otherManagers()) {
      try (UnifiedBuffer<int[]> buffer = other.copyOf(new int[100]);
          UnifiedBuffer<int[]> low = buffer.slice(0, 60);
          UnifiedBuffer<int[]> high = buffer.slice(40, 60);
          UnifiedBuffer<int[]> again = buffer.slice(0, 60)) {
        Kernel writesBoth = compiled("storesTwice");
        assertThatThrownBy(() -> writesBoth.execute(Arguments.inOrder(low, high)))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContainingAll("'x' and 'y' overlap", "copied to the accelerator");
        Kernel writesOne = compiled("loadsWhatItStored");
        assertThatThrownBy(() -> writesOne.execute(Arguments.inOrder(low, high, new int[60])))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContainingAll("overlap", "is written");
        int[] expected = new int[60];
        for (int i = 0; i < 60; i++) {
          MethodKernels.storesTwice(i, expected, expected);
        }
        compiled("storesTwice").execute(Arguments.inOrder(low, again));
        assertThat(contents(low)).containsExactly(expected);
      }
    }
  }

  @Test
  void anExpressionOverOneArrayReadsItBeforeItWrites() {
    bench().assumeCompiler();
    Kernel kernel = memory().compile(KernelSource.elementwise("y = 2 * x + z"));
    int[] one = {1, 2, 3};
    kernel.execute(Arguments.of("x", one, "y", one, "z", one));
    assertThat(one).containsExactly(3, 6, 9);
    try (UnifiedBuffer<int[]> buffer = memory().copyOf(new int[] {1, 2, 3})) {
      kernel.execute(Arguments.of("x", buffer, "y", buffer, "z", buffer));
      assertThat(contents(buffer)).containsExactly(3, 6, 9);
    }
  }

  @Test
  void nothingToDo() {
    float[] y = {};
    compiled("saxpy").execute(Arguments.inOrder(1f, new float[0], y));
    float[] kept = {1, 2};
    compiled("saxpy").execute(Arguments.inOrder(1f, new float[2], kept), LaunchRange.of(0));
    assertThat(kept).containsExactly(1, 2);
  }

  @Test
  void theFirstOfSeveralSourcesThatTheAcceleratorRunsIsTaken() {
    KernelSource.Method method = KernelSource.method(LOOKUP, "saxpy");
    KernelParameter x = KernelParameter.inout("y", ElementType.FLOAT);
    KernelSource opencl =
        KernelSource.opencl("kernel void f(global float* y) { y[get_global_id(0)] = 1; }", "f", x);
    KernelSource java =
        KernelSource.java(
            item -> item.array(0).setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, item.globalId(0), 1),
            x);
    Kernel first;
    try {
      first = memory().compile(opencl, java, method);
    } catch (UnsupportedOperationException noCompiler) {
      abort("no compiler: " + noCompiler.getMessage());
      return;
    }
    boolean runsOpenCl = bench().can(Capability.OPENCL_KERNELS);
    boolean runsJava = bench().can(Capability.JAVA_KERNELS);
    assertThat(first.source()).isEqualTo(runsOpenCl ? opencl : runsJava ? java : method);
    float[] y = {5, 6};
    first.execute(
        first.source().equals(method)
            ? Arguments.of("a", 0f, "x", new float[] {1, 1}, "y", y)
            : Arguments.of("y", y));
    assertThat(y)
        .containsExactly(first.source().equals(method) ? new float[] {5, 6} : new float[] {1, 1});
  }

  @Test
  void argumentsThatDoNotFit() {
    Kernel saxpy = compiled("saxpy");
    float[] x = {1};
    assertThatThrownBy(() -> saxpy.execute(Arguments.inOrder(1f, x)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("a, x, y");
    assertThatThrownBy(() -> saxpy.execute(Arguments.of("a", 1f, "x", x, "z", x)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'y' is missing");
    assertThatThrownBy(() -> saxpy.execute(Arguments.inOrder(1e300, x, x)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'a'");
    assertThatThrownBy(() -> saxpy.execute(Arguments.inOrder(1f, new int[1], x)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("int");
    assertThatThrownBy(
            () ->
                saxpy.execute(
                    Arguments.inOrder(1f, x, x.clone()), LaunchRange.of(1).withLocalMemory(8)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("memory of its groups");
    assertThatThrownBy(
            () -> saxpy.execute(Arguments.inOrder(1f, x, x.clone()), LaunchRange.of(1, 2)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("saxpy", "one dimension", "[1, 2]", "WorkItem");
  }

  @Test
  void loopsOverTheElementsOfArrays() {
    boolean[] flags = {true, false, true, true};
    check("sumsOfEach", LaunchRange.of(100), ints(37, 5), flags, new long[100]);
    check("sumsOfEach", LaunchRange.of(100), new int[0], new boolean[0], new long[100]);
  }

  @Test
  void itemsBeyondAnArrayThatIsGuardedLeaveTheMemoryAroundItAlone() {
    for (String method : List.of("doubledInside", "doubledUnlessOutside")) {
      for (int items : new int[] {64, 40, 100}) {
        checkGuarded(method, items);
      }
    }
  }

  /** Runs on a slice of 64 elements in a buffer whose newest bytes are on the host. */
  private void checkGuarded(String method, int items) {
    Kernel kernel = compiled(method);
    UnifiedBuffer<float[]> whole = patterned(300, MemoryLocation.DEVICE, 1);
    kernel.execute(Arguments.of("x", new float[300], "y", whole), LaunchRange.of(300));
    whole.copyFrom(pattern(300, 2));
    float[] x = pattern(128, 3);
    float[] expected = pattern(300, 2);
    for (int i = 0; i < Math.min(items, 64); i++) {
      expected[120 + i] = 2 * x[i];
    }
    try (UnifiedBuffer<float[]> slice = whole.slice(120, 64)) {
      kernel.execute(Arguments.of("x", x, "y", slice), LaunchRange.of(items));
      Patterns.assertEqual(
          contents(slice), Arrays.copyOfRange(expected, 120, 184), method + " of " + items);
    }
    Patterns.assertEqual(contents(whole), expected, method + " of " + items);
  }
}
