package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticReport;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.diagnostics.GuardReport;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The paranoid level on devices, however the host reaches their memory. */
@ExtendWith(QuietLog.class)
class ParanoidDeviceTest {
  private static final int BYTES = 10_000;

  private final Queue<DiagnosticReport> reports = new ConcurrentLinkedQueue<>();
  private SimulatedProvider simulated;

  private void on(SimulatedHardware hardware, Consumer<UnifiedMemoryManager> test) {
    simulated = new SimulatedProvider(hardware);
    MemoryOptions options =
        MemoryOptions.builder()
            .diagnostics(DiagnosticsLevel.PARANOID)
            .reportListener(reports::add)
            .build();
    try (Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options))) {
      test.accept(tidepool.memory(tidepool.accelerator("simulated:0")));
    }
  }

  @AfterEach
  void noDriverWouldComplain() {
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  @ParameterizedTest
  @EnumSource(HostAccess.class)
  void bytesTravelUnharmedAndNoGuardIsDamaged(HostAccess access) {
    on(
        SimulatedHardware.discrete().withHostAccess(access),
        memory -> {
          for (MemoryLocation location : MemoryLocation.values()) {
            try (UnifiedBuffer<byte[]> buffer =
                memory.allocate(ElementType.BYTE, BYTES, location)) {
              byte[] pattern = pattern(location);
              buffer.copyFrom(pattern);
              buffer.synchronize();
              buffer.slice(10, 20).fill((byte) 3);
              buffer.prefetchToDevice();
              Arrays.fill(pattern, 10, 30, (byte) 3);
              byte[] seen = new byte[BYTES];
              buffer.copyTo(seen);
              assertThat(seen).isEqualTo(pattern);
              assertThat(memory.checkGuards()).isEmpty();
            }
          }
        });
    assertThat(reports).isEmpty();
  }

  private static byte[] pattern(MemoryLocation location) {
    byte[] pattern = new byte[BYTES];
    for (int i = 0; i < BYTES; i++) {
      pattern[i] = (byte) (i * 31 + location.ordinal());
    }
    return pattern;
  }

  @ParameterizedTest
  @EnumSource(
      value = MemoryLocation.class,
      names = {"HOST", "PINNED", "UNIFIED"})
  void whoWritesBesideWhatTheHostReachesIsTold(MemoryLocation location) {
    on(
        SimulatedHardware.discrete(),
        memory -> {
          Allocation tagged = Allocation.at(location).tag("victim");
          UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, BYTES, tagged);
          long behind = buffer.asSegment().address() + BYTES;
          MemorySegment.ofAddress(behind).reinterpret(4).set(ValueLayout.JAVA_INT_UNALIGNED, 0, 7);
          assertThat(memory.checkGuards()).hasSize(1);
          buffer.close();
        });
    await().until(() -> !reports.isEmpty());
    assertThat((GuardReport) reports.element())
        .returns("victim", GuardReport::tag)
        .returns((long) BYTES, GuardReport::offset)
        .returns(4L, GuardReport::damaged);
  }

  @Test
  void theHostsCopyOfADeviceBufferIsGuardedToo() {
    on(
        SimulatedHardware.discrete(),
        memory -> {
          UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, BYTES);
          MemorySegment copy = buffer.asSegment();
          MemorySegment.ofAddress(copy.address() - 1)
              .reinterpret(1)
              .set(ValueLayout.JAVA_BYTE, 0, (byte) 7);
          assertThat(memory.checkGuards()).first().returns(-1L, GuardReport::offset);
          buffer.close();
        });
    await().until(() -> !reports.isEmpty());
  }

  @Test
  void theDevicesBytesOfAClosedBufferAreOverwrittenByAFill() {
    on(
        SimulatedHardware.discrete(),
        memory -> {
          UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, BYTES);
          buffer.copyFrom(new byte[BYTES]);
          long before = simulated.device("simulated:0").ledger().calls(SpiCall.FILL);
          buffer.close();
          assertThat(simulated.device("simulated:0").ledger().calls(SpiCall.FILL))
              .isEqualTo(before + 1);
        });
  }
}
