package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorException;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Queue;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever call of the driver fails: it is an error with a name, or none, and no leak. */
@ExtendWith(NothingLeaks.class)
@Timeout(300)
class FailingCallsTest {
  private static final String BROKEN = "__kernel void broken(__global char* y) { y[0] = missing; }";

  private FailingOpenCl opencl;

  @BeforeEach
  void noCallFails() {
    opencl = FailingOpenCl.orSkip();
  }

  @Test
  void aStatusThatCannotBeReadSaysNothingOfTheCommand() {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      try (OpenClEvent event = new OpenClEvent(context, signal)) {
        opencl.fail("clGetEventInfo", 1, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
        assertThat(event.isDone()).isFalse();
        UserEvent.end(signal, OpenCL.CL_COMPLETE);
        assertThat(event.isDone()).isTrue();
      }
    }
  }

  @Test
  void commandsOfALostDeviceHaveEnded() {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      try (OpenClEvent event = new OpenClEvent(context, signal)) {
        opencl.fail("clGetEventInfo", 1, ErrorCodes.CL_DEVICE_NOT_AVAILABLE);
        assertThat(event.isDone()).isTrue();
        opencl.fail("clWaitForEvents", 1, ErrorCodes.CL_DEVICE_NOT_AVAILABLE, -1);
        assertThatThrownBy(event::await).hasMessageContaining("CL_DEVICE_NOT_AVAILABLE");
        assertThat(opencl.calls("clWaitForEvents")).isOne();
        UserEvent.end(signal, OpenCL.CL_COMPLETE);
      }
    }
  }

  @Test
  void aQueueStillComesAfterACommandWhoseStatusCannotBeRead() {
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue()) {
      Context context = ((OpenClDevice) device).context();
      Block block = device.allocate(64, 64, BlockKind.DEVICE);
      long signal = UserEvent.create(context);
      try (OpenClEvent ahead = new OpenClEvent(context, signal)) {
        opencl.fail("clGetEventInfo", 1, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
        queue.after(ahead);
        assertThat(opencl.calls("clEnqueueBarrierWithWaitList")).isOne();
        try (Event filled = queue.fill(block, 0, 64, (byte) 1)) {
          assertThat(filled.isDone()).isFalse();
          UserEvent.end(signal, OpenCL.CL_COMPLETE);
          filled.await();
        }
      }
      block.free();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "SHARED_BUFFERS, clEnqueueUnmapMemObject",
    "SHARED_BUFFERS, clFlush",
    "COARSE_SHARED_POINTERS, clFlush"
  })
  void aBlockIsReleasedAfterItsReleaseFailed(MemoryMode mode, String function) {
    try (Device device = mode.open();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(64, 64, BlockKind.DEVICE);
      end(queue.acquire(block));
      opencl.fail(function, 1, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
      assertThatThrownBy(() -> queue.release(block)).hasMessageContaining(function);
      Objects.requireNonNull(block.segment()).fill((byte) 3);
      end(queue.release(block));
      block.free();
    }
  }

  @Test
  void anAcquireThatFailedIsUndone() {
    try (Device device = MemoryMode.SHARED_BUFFERS.open();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(64, 64, BlockKind.DEVICE);
      opencl.fail("clFlush", 1, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
      assertThatThrownBy(() -> queue.acquire(block)).hasMessageContaining("clFlush");
      assertThat(opencl.calls("clEnqueueMapBuffer")).isOne();
      assertThat(opencl.calls("clEnqueueUnmapMemObject")).isOne();
      block.free();
    }
  }

  private static void end(Event event) {
    try (event) {
      event.await();
    }
  }

  @Test
  void aQueueIsFinishedBeforeItIsReleasedAlsoIfThatFails() {
    try (Device device = Pocl.device(Map.of())) {
      opencl.fail("clFinish", 1, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
      device.createQueue().close();
      assertThat(opencl.calls("clFinish")).isOne();
      assertThat(opencl.calls("clReleaseCommandQueue")).isOne();
    }
  }

  @Test
  void aWaitThatIsRefusedIsTriedAgainUntilTheCommandHasEnded() throws Exception {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      try (OpenClEvent event = new OpenClEvent(context, signal)) {
        opencl.fail("clWaitForEvents", 1, ErrorCodes.CL_OUT_OF_HOST_MEMORY, 5);
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread waiting =
            Thread.ofPlatform()
                .uncaughtExceptionHandler((_, e) -> failure.set(e))
                .start(event::await);
        await().until(() -> opencl.calls("clWaitForEvents") == 6);
        assertThat(waiting.isAlive()).isTrue();
        UserEvent.end(signal, OpenCL.CL_COMPLETE);
        waiting.join();
        assertThat(failure.get()).isNull();
      }
    }
  }

  @Test
  void aWaitThatIsAlwaysRefusedDoesNotLastForEver() {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      try (OpenClEvent event = new OpenClEvent(context, signal)) {
        opencl.fail("clWaitForEvents", 1, ErrorCodes.CL_OUT_OF_RESOURCES, -1);
        assertThatThrownBy(event::await).hasMessageContaining("clWaitForEvents");
        UserEvent.end(signal, OpenCL.CL_COMPLETE);
      }
    }
  }

  @Test
  void aFailedCommandIsNamedAlsoWhereItsTypeCannotBeRead() {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      UserEvent.end(signal, ErrorCodes.CL_OUT_OF_RESOURCES);
      try (OpenClEvent failed = new OpenClEvent(context, signal)) {
        opencl.fail("clGetEventInfo", 2, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
        assertThatThrownBy(failed::await)
            .isInstanceOfSatisfying(
                AcceleratorException.class,
                failure -> assertThat(failure.code()).isEqualTo(ErrorCodes.CL_OUT_OF_RESOURCES));
      }
    }
  }

  /** The kernel object is made before the driver is asked for these. */
  @ParameterizedTest
  @ValueSource(strings = {"clGetKernelInfo", "clGetKernelWorkGroupInfo"})
  void aKernelThatTellsNothingOfItselfIsReleased(String function) {
    try (OpenClDevice device = (OpenClDevice) Pocl.device(Map.of())) {
      opencl.fail(function, 1, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
      assertThatThrownBy(() -> CompiledKernel.compile(device, "__kernel void k() {}", "k", ""))
          .isInstanceOf(AcceleratorException.class)
          .hasMessageContaining(function);
    }
  }

  @Test
  void aSourceIsRefusedAlsoWhereTheLogCannotBeRead() {
    try (OpenClDevice device = (OpenClDevice) Pocl.device(Map.of())) {
      opencl.fail("clGetProgramBuildInfo", 1, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
      assertThatThrownBy(() -> CompiledKernel.compile(device, BROKEN, "broken", ""))
          .isInstanceOfSatisfying(
              KernelCompilationException.class,
              refused -> assertThat(refused.log()).contains("CL_OUT_OF_HOST_MEMORY"))
          .hasMessageContaining("CL_BUILD_PROGRAM_FAILURE");
    }
  }

  @Test
  void aLostDeviceDoesNotBlameTheSource() {
    try (OpenClDevice device = (OpenClDevice) Pocl.device(Map.of())) {
      opencl.fail("clBuildProgram", 1, ErrorCodes.CL_DEVICE_NOT_AVAILABLE);
      assertThatThrownBy(() -> CompiledKernel.compile(device, "__kernel void k() {}", "k", ""))
          .isInstanceOfSatisfying(
              AcceleratorException.class,
              lost -> assertThat(lost.kind()).isEqualTo(AcceleratorException.Kind.DEVICE_LOST));
    }
  }

  /** Each kind of memory, copies of each kind, kernels, a slice inside an element. */
  private static void work(MemoryMode mode) {
    MemoryOptions options = MemoryOptions.builder().calibration(false).build();
    try (Tidepool tidepool =
        Pocl.with(
            mode.settings,
            () -> Discovery.using(List.of(new OpenClProvider()), () -> Tidepool.open(options)))) {
      Optional<Accelerator> first =
          tidepool.accelerators().stream()
              .filter(accelerator -> accelerator.id().startsWith("opencl"))
              .findFirst();
      if (first.isEmpty()) {
        return;
      }
      UnifiedMemoryManager memory = tidepool.memory(first.get());
      Kernel twice = memory.compile(KernelSource.elementwise("y = x + x"));
      Kernel own =
          memory.compile(
              KernelSource.opencl(
                  "__kernel void own(__global float* y) { y[get_global_id(0)] += 0; }",
                  "own",
                  KernelParameter.inout("y", ElementType.FLOAT)));
      float[] ones = new float[5000];
      Arrays.fill(ones, 1);
      try (UnifiedBuffer<float[]> x = memory.copyOf(ones);
          UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, 5000);
          UnifiedBuffer<float[]> other = memory.allocate(ElementType.FLOAT, 5000);
          UnifiedBuffer<float[]> pinned =
              memory.allocate(ElementType.FLOAT, 5000, MemoryLocation.PINNED);
          UnifiedBuffer<byte[]> bytes = memory.allocate(ElementType.BYTE, 20_003);
          UnifiedBuffer<byte[]> odd = bytes.slice(3, 20_000);
          UnifiedBuffer<float[]> within = odd.as(ElementType.FLOAT)) {
        twice.execute(Arguments.of("x", x, "y", y));
        twice.execute(Arguments.of("x", y, "y", within));
        own.execute(Arguments.of("y", within), LaunchRange.of(5000));
        other.fill((byte) 0);
        other.copyFrom(within);
        pinned.copyFrom(other);
        float[] four = new float[5000];
        pinned.copyTo(four);
        assertThat(four).containsOnly(4);
        memory.transfers().transfer(intoParts(x, 20), TransferOptions.defaults()).orThrow();
      }
    }
  }

  /** Transfers that are copied together. */
  private static List<Transfer<?>> intoParts(UnifiedBuffer<float[]> buffer, int count) {
    List<Transfer<?>> list = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      list.add(Transfer.of(new float[100], buffer.slice(200L * i, 100)));
    }
    return list;
  }

  @ParameterizedTest
  @EnumSource(names = {"COARSE_SHARED_POINTERS", "SHARED_BUFFERS", "DISCRETE"})
  void everyFunctionFailsOnceAtItsFirstCallAndAtALaterOne(MemoryMode mode) {
    Pocl.devices().forEach(Device::close);
    // What is kept after the first time, such as compiled kernels on disk, is there.
    work(mode);
    opencl = FailingOpenCl.orSkip();
    work(mode);
    Map<String, Long> calls = opencl.calls();
    assertThat(calls).hasSizeGreaterThan(20);
    List<String> wrong = new ArrayList<>();
    int told = 0;
    for (Map.Entry<String, Long> call : calls.entrySet()) {
      for (long nth : new TreeSet<>(List.of(1L, (call.getValue() + 1) / 2))) {
        told += withFailure(mode, call.getKey(), nth, wrong) ? 1 : 0;
      }
    }
    assertThat(wrong).isEmpty();
    // Most failures have to be told; releases and the like are only logged.
    assertThat(told).isGreaterThan(10);
  }

  private static boolean withFailure(
      MemoryMode mode, String function, long nth, List<String> wrong) {
    FailingOpenCl opencl = FailingOpenCl.orSkip();
    Map<ObjectKind, Long> before = live();
    // CL_INVALID_OPERATION
    opencl.fail(function, nth, -59);
    boolean told = false;
    List<Object> findings = new ArrayList<>();
    try {
      work(mode);
    } catch (TidepoolException expected) {
      told = true;
    } catch (RuntimeException | AssertionError unexpected) {
      findings.add(unexpected);
    }
    if (!live().equals(before)) {
      findings.add(live() + " live, and before " + before);
    }
    findings.forEach(
        finding -> wrong.add("when call " + nth + " of " + function + " failed: " + finding));
    return told;
  }

  private static Map<ObjectKind, Long> live() {
    Map<ObjectKind, Long> live = new EnumMap<>(ObjectKind.class);
    for (ObjectKind kind : ObjectKind.values()) {
      live.put(kind, ObjectKind.LIVE.count(kind));
    }
    return live;
  }
}
