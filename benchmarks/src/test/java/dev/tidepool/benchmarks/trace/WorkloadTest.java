package dev.tidepool.benchmarks.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.cli.trace.Replay;
import dev.tidepool.cli.trace.Trace;
import dev.tidepool.cli.trace.TraceFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class WorkloadTest {
  @TempDir private Path folder;

  /** Checks that buffers are allocated and freed once each, and keeps the sizes. */
  private static final class Check implements Trace.Visitor {
    private final List<Long> sizes = new ArrayList<>();
    private final BitSet live = new BitSet();

    static Check of(Trace trace) {
      Check check = new Check();
      trace.visit(0, trace.events(), check);
      return check;
    }

    @Override
    public void allocated(int buffer, long bytes, MemoryLocation location) {
      assertThat(buffer).isEqualTo(sizes.size());
      assertThat(bytes).isNotNegative();
      sizes.add(bytes);
      live.set(buffer);
    }

    @Override
    public void freed(int buffer) {
      assertThat(live.get(buffer)).as("buffer %d is live", buffer).isTrue();
      live.clear(buffer);
    }
  }

  private Trace trace(Workload workload, long seed) throws IOException {
    Path file = folder.resolve(workload.label() + ".trace");
    GenerateTrace.write(workload.label(), file, seed);
    return TraceFile.read(file);
  }

  @ParameterizedTest
  @EnumSource
  void every_buffer_is_freed_once_and_the_seed_decides_the_sizes(Workload workload)
      throws IOException {
    Check first = Check.of(trace(workload, 1));
    assertThat(first.live.isEmpty()).isTrue();
    assertThat(first.sizes).hasSizeGreaterThan(1000);
    assertThat(Check.of(trace(workload, 1)).sizes).isEqualTo(first.sizes);
    assertThat(Check.of(trace(workload, 2)).sizes).isNotEqualTo(first.sizes);
  }

  @ParameterizedTest
  @EnumSource
  void a_warm_pool_serves_nearly_all_of_it_and_the_figures_add_up(Workload workload)
      throws IOException {
    Trace trace = trace(workload, 1);
    Replay pooled = replay(trace, true);
    Replay unpooled = replay(trace, false);
    assertThat(pooled.allocations()).isEqualTo(trace.buffers());
    assertThat(pooled.peakLive()).isEqualTo(trace.peakBytes());
    assertThat(pooled.peakReserved()).isGreaterThanOrEqualTo(trace.peakBytes());
    assertThat(pooled.warmHitRate()).isBetween(0.95, 1.0);
    assertThat(pooled.warmDriverCalls()).isLessThanOrEqualTo(unpooled.warmDriverCalls() / 50);
    assertThat(unpooled.driverCalls()).isEqualTo(trace.buffers());
    assertThat(unpooled.warmHitRate()).isZero();
  }

  @Test
  void another_name_is_refused_with_those_that_there_are() {
    assertThatThrownBy(() -> GenerateTrace.write("alexnet", folder.resolve("a.trace"), 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("no program 'alexnet'; there are resnet, query, stream");
    assertThat(folder).isEmptyDirectory();
  }

  private static Replay replay(Trace trace, boolean pooling) {
    MemoryOptions options = MemoryOptions.builder().pooling(pooling).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      return Replay.of(trace, memory, false);
    }
  }
}
