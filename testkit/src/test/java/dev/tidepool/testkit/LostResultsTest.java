package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeUse;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticReport;
import dev.tidepool.diagnostics.LostResultReport;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A result that cannot be brought back to the memory under its buffer is never lost in silence. */
@ExtendWith(QuietLog.class)
@Timeout(120)
class LostResultsTest {
  private static final int LENGTH = 10_000;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final List<DiagnosticReport> reports = new CopyOnWriteArrayList<>();

  @RegisterExtension
  final SimulatedRig rig =
      new SimulatedRig(
          MemoryOptions.builder()
              .transferRetries(2)
              .transferRetryTime(PATIENCE)
              .reportListener(reports::add));

  @TempDir private Path folder;

  private void compute(UnifiedBuffer<float[]> buffer) {
    rig.memory()
        .compile(KernelSource.elementwise("y = a"))
        .execute(Arguments.of("a", 5f, "y", buffer));
  }

  private UnifiedBuffer<float[]> wrapped(MemorySegment segment) {
    UnifiedBuffer<float[]> buffer = rig.memory().wrap(ElementType.FLOAT, segment);
    compute(buffer);
    return buffer;
  }

  private LostResultReport report() throws InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (reports.isEmpty() && System.nanoTime() - end < 0) {
      Thread.sleep(1);
    }
    assertThat(reports).hasSize(1);
    return (LostResultReport) reports.getFirst();
  }

  @Test
  void aWriteBackThatFailsFreesThenThrowsAndIsReported() throws Exception {
    try (Arena arena = Arena.ofShared()) {
      UnifiedBuffer<float[]> buffer = wrapped(arena.allocate(4L * LENGTH, 4));
      rig.faults().failAlways(SpiCall.READ, Failure.REFUSED);
      assertThatThrownBy(buffer::close)
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("buffer 'wrapped' (FLOAT[10000] in HOST)")
          .hasMessageContaining("40000 bytes that simulated:0 wrote are lost");
      assertThat(rig.memory().statistics().activeBuffers()).isZero();
      assertThat(rig.memory().statistics().lostResults()).isEqualTo(1);
      assertThat(report().bytes()).isEqualTo(4L * LENGTH);
      assertThat(report().tag()).isEqualTo("wrapped");
      buffer.close();
    }
  }

  @Test
  void whatTheHostWroteToAdoptedMemoryOfTheDeviceIsLostToo() throws Exception {
    try (UnifiedMemoryManager owner =
            UnifiedMemoryManager.create(rig.memory().accelerator(), MemoryOptions.defaults());
        UnifiedBuffer<float[]> source = owner.copyOf(new float[LENGTH]);
        NativeAccess access = owner.lend(NativeUse.readWrite(source))) {
      UnifiedBuffer<float[]> buffer =
          rig.memory().adopt(ElementType.FLOAT, access.handle(source), () -> {});
      buffer.asSegment().setAtIndex(ValueLayout.JAVA_FLOAT, 7, 7);
      rig.faults().failAlways(SpiCall.WRITE, Failure.REFUSED);
      assertThatThrownBy(buffer::close)
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("40000 bytes that the host wrote are lost");
      assertThat(report())
          .asString()
          .startsWith(
              "the buffer 'adopted' of FLOAT in DEVICE on simulated:0 lost 40000 bytes that were"
                  + " newer than its memory and could not be brought back to it: ");
    }
  }

  @Test
  void theBodysExceptionKeepsTheLostResultAsSuppressed() {
    try (Arena arena = Arena.ofShared()) {
      assertThatThrownBy(
              () -> {
                try (UnifiedBuffer<float[]> _ = wrapped(arena.allocate(4L * LENGTH, 4))) {
                  rig.faults().failAlways(SpiCall.READ, Failure.REFUSED);
                  throw new IOException("the body's");
                }
              })
          .isInstanceOf(IOException.class)
          .satisfies(
              thrown ->
                  assertThat(thrown.getSuppressed())
                      .singleElement()
                      .isInstanceOf(TransferException.class));
    }
  }

  @Test
  void aWriteBackIsTriedAgainAsTransfersAre() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment segment = arena.allocate(4L * LENGTH, 4);
      UnifiedBuffer<float[]> buffer = wrapped(segment);
      rig.faults().fail(SpiCall.READ, 1, Failure.TRANSIENT);
      buffer.close();
      assertThat(rig.faults().fired()).contains(SpiCall.READ);
      assertThat(segment.getAtIndex(ValueLayout.JAVA_FLOAT, LENGTH - 1)).isEqualTo(5f);
    }
  }

  @Test
  void aLostDeviceIsALostResult() throws Exception {
    try (Arena arena = Arena.ofShared()) {
      UnifiedBuffer<float[]> buffer = wrapped(arena.allocate(4L * LENGTH, 4));
      rig.faults().fail(SpiCall.READ, 1, Failure.DEVICE_LOST);
      assertThatThrownBy(buffer::close)
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("are lost");
      assertThat(report().cause()).isNotEmpty();
    }
  }

  @Test
  void aManagerThatClosesCountsAndReportsAndThrowsNothing() throws Exception {
    try (Arena arena = Arena.ofShared();
        UnifiedMemoryManager further =
            UnifiedMemoryManager.create(
                rig.memory().accelerator(),
                MemoryOptions.builder().reportListener(reports::add).build())) {
      UnifiedBuffer<float[]> buffer =
          further.wrap(ElementType.FLOAT, arena.allocate(4L * LENGTH, 4));
      further
          .compile(KernelSource.elementwise("y = a"))
          .execute(Arguments.of("a", 5f, "y", buffer));
      rig.faults().failAlways(SpiCall.READ, Failure.REFUSED);
      further.close();
      assertThat(further.statistics().lostResults()).isEqualTo(1);
      assertThat(further.statistics().activeBuffers()).isZero();
      long end = System.nanoTime() + PATIENCE.toNanos();
      while (reports.stream().noneMatch(LostResultReport.class::isInstance)
          && System.nanoTime() - end < 0) {
        Thread.sleep(1);
      }
      assertThat(reports).hasAtLeastOneElementOfType(LostResultReport.class);
    }
  }

  @Test
  void synchronizingTheManagerThrowsWhatCouldNotBeBroughtBackAndLosesNothing() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment segment = arena.allocate(4L * LENGTH, 4);
      try (UnifiedBuffer<float[]> _ = wrapped(segment)) {
        rig.faults().failAlways(SpiCall.READ, Failure.REFUSED);
        assertThatThrownBy(() -> rig.memory().synchronize()).isInstanceOf(TransferException.class);
        rig.faults().disarm();
        rig.memory().synchronize();
        assertThat(segment.getAtIndex(ValueLayout.JAVA_FLOAT, 0)).isEqualTo(5f);
      }
      assertThat(rig.memory().statistics().lostResults()).isZero();
    }
  }

  @Test
  void aFileThatBecameShorterMeanwhileIsNamed() throws Exception {
    Path file = Files.write(folder.resolve("result.raw"), new byte[1 << 20]);
    UnifiedBuffer<float[]> buffer = rig.memory().map(file, ElementType.FLOAT, MapMode.READ_WRITE);
    compute(buffer);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.truncate(0);
    }
    assertThatThrownBy(buffer::close)
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("result.raw")
        .hasMessageContaining("became shorter");
    assertThat(report().bytes()).isEqualTo(1 << 20);
    assertThat(rig.memory().statistics().activeBuffers()).isZero();
  }

  @Test
  void aBufferThatBecameUnreachableIsReportedAsLost() throws Exception {
    Arena arena = Arena.ofShared();
    forget(arena.allocate(4L * LENGTH, 4));
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (rig.memory().statistics().lostResults() == 0 && System.nanoTime() - end < 0) {
      System.gc();
      Thread.sleep(10);
      // Asking for the figures of leaks is what a maintenance thread does by itself.
      rig.memory().trimExcess();
    }
    assertThat(rig.memory().statistics().lostResults()).isEqualTo(1);
    while (rig.memory().statistics().activeBuffers() > 0 && System.nanoTime() - end < 0) {
      Thread.sleep(1);
    }
    arena.close();
  }

  private void forget(MemorySegment segment) {
    UnifiedBuffer<float[]> buffer = wrapped(segment);
    assertThat(buffer.length()).isEqualTo(LENGTH);
  }

  @Test
  void aListenerInsideOfWorkOnTheBufferMayCloseIt() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment segment = arena.allocate(4L * LENGTH, 4);
      UnifiedBuffer<float[]> buffer = wrapped(segment);
      AtomicBoolean closed = new AtomicBoolean();
      rig.memory()
          .transfers()
          .transfer(
              List.of(Transfer.of(buffer, new float[LENGTH])),
              TransferOptions.builder()
                  .progress(
                      (_, _) -> {
                        if (closed.compareAndSet(false, true)) {
                          buffer.close();
                        }
                      })
                  .build());
      assertThat(closed).isTrue();
      rig.memory().synchronize();
      assertThat(segment.getAtIndex(ValueLayout.JAVA_FLOAT, LENGTH - 1)).isEqualTo(5f);
      assertThat(rig.memory().statistics().activeBuffers()).isZero();
    }
  }
}
