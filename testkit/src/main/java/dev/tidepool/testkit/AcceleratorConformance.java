package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Accelerator;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.Tidepool;
import dev.tidepool.testkit.conformance.AccountingConformance;
import dev.tidepool.testkit.conformance.AdoptedDeviceMemoryConformance;
import dev.tidepool.testkit.conformance.AdoptedMemoryConformance;
import dev.tidepool.testkit.conformance.AllocationConformance;
import dev.tidepool.testkit.conformance.ArrayCopyConformance;
import dev.tidepool.testkit.conformance.Bench;
import dev.tidepool.testkit.conformance.BoundsConformance;
import dev.tidepool.testkit.conformance.BufferCopyConformance;
import dev.tidepool.testkit.conformance.ClosedConformance;
import dev.tidepool.testkit.conformance.CoherenceConformance;
import dev.tidepool.testkit.conformance.CustomBufferConformance;
import dev.tidepool.testkit.conformance.DirtyRangeConformance;
import dev.tidepool.testkit.conformance.ExchangeConformance;
import dev.tidepool.testkit.conformance.GroupKernelConformance;
import dev.tidepool.testkit.conformance.HandWrittenKernelConformance;
import dev.tidepool.testkit.conformance.KernelConformance;
import dev.tidepool.testkit.conformance.LendingConformance;
import dev.tidepool.testkit.conformance.LifetimeConformance;
import dev.tidepool.testkit.conformance.MappingConformance;
import dev.tidepool.testkit.conformance.MethodFunctionConformance;
import dev.tidepool.testkit.conformance.MethodKernelConformance;
import dev.tidepool.testkit.conformance.OrderConformance;
import dev.tidepool.testkit.conformance.OutlivedMemoryConformance;
import dev.tidepool.testkit.conformance.ReductionConformance;
import dev.tidepool.testkit.conformance.ReservationConformance;
import dev.tidepool.testkit.conformance.SegmentCopyConformance;
import dev.tidepool.testkit.conformance.SharedMemoryConformance;
import dev.tidepool.testkit.conformance.SuspensionConformance;
import dev.tidepool.testkit.conformance.Topic;
import dev.tidepool.testkit.conformance.TransferConformance;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The contract of an accelerator as one suite. A subclass names the accelerator:
 *
 * <pre>{@code
 * class OpenClConformanceTest extends AcceleratorConformance {
 *   @Override
 *   protected String accelerator() {
 *     return "opencl:0";
 *   }
 * }
 * }</pre>
 *
 * <p>The suite shares one {@link Tidepool}; each test has its own manager, which must have no
 * buffers and no memory left at its end. A simulated or decorated backend overrides {@link #open()}
 * with {@link dev.tidepool.spi.Discovery#using}.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExtendWith(ChosenTopics.class)
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class AcceleratorConformance {
  /** Topics for which the location of memory and the host's access to it do not matter. */
  protected static final Set<Class<? extends Topic>> OF_ANY_MEMORY =
      Set.of(
          Bounds.class,
          Closed.class,
          CustomBuffer.class,
          GroupKernel.class,
          MethodKernel.class,
          Reservations.class);

  /** Topics for which it matters which of several devices the suite tests. */
  protected static final Set<Class<? extends Topic>> OF_SEVERAL_DEVICES =
      Set.of(
          Accounting.class,
          AdoptedDeviceMemory.class,
          AdoptedMemory.class,
          Allocation.class,
          BufferCopy.class,
          Coherence.class,
          Exchange.class,
          HandWrittenKernel.class,
          Kernel.class,
          Lending.class,
          Order.class,
          SharedMemory.class,
          SuspensionAndReturn.class,
          Transfers.class);

  private @Nullable Tidepool tidepool;
  private @Nullable Bench bench;
  private final Map<String, Optional<String>> noCompiler = new ConcurrentHashMap<>();

  /** Returns the id of the tested accelerator. */
  protected abstract String accelerator();

  /** Opens the Tidepool that contains the accelerator. */
  protected Tidepool open() {
    return Tidepool.open();
  }

  /**
   * Returns whether tests of kernels fail if the accelerator has no compiler, as by default.
   * Otherwise they are skipped, and all other tests run.
   */
  protected boolean needsCompiler() {
    return true;
  }

  /**
   * Returns whether a topic, which is one of the nested classes here, is part of the suite; by
   * default, all are. If several suites test variants of one backend, one of them should run
   * everything. The others may omit topics that the variant does not influence. The system property
   * {@code tidepool.test.long=true} makes all suites run everything.
   */
  protected boolean runs(Class<? extends Topic> topic) {
    return true;
  }

  /** Called after each test, when its manager is closed. Throws to fail the test. */
  protected void verifyAfterEach() {}

  /** Called after the last test, when the Tidepool is closed. Throws to fail the suite. */
  protected void verifyAfterAll() {}

  /** Returns the bench of the running test. */
  protected final Bench bench() {
    if (bench == null) {
      throw new IllegalStateException("no test runs");
    }
    return bench;
  }

  @BeforeAll
  final void openTidepool() {
    tidepool = open();
  }

  @AfterAll
  final void closeTidepool() {
    if (tidepool != null) {
      tidepool.close();
    }
    verifyAfterAll();
  }

  @BeforeEach
  final void setUpBench() {
    Tidepool opened = tidepool;
    if (opened == null) {
      throw new IllegalStateException("no Tidepool is open");
    }
    bench = new Bench(this::open, opened, opened.accelerator(accelerator()), this::whyNoCompiler);
  }

  private Optional<String> whyNoCompiler(Accelerator asked) {
    return needsCompiler()
        ? Optional.empty()
        : noCompiler.computeIfAbsent(asked.id(), _ -> CompilerProbe.whyNone(asked));
  }

  @AfterEach
  final void closeBench() {
    Bench ended = bench();
    ended.close();
    MemoryStatistics books = ended.memory().statistics();
    assertThat(books.activeBuffers()).as("buffers after the manager closed").isZero();
    assertThat(books.totalAllocated()).as("bytes after the manager closed").isZero();
    assertThat(books.totalPooled()).as("idle bytes after the manager closed").isZero();
    assertThat(books.totalFreed()).as("buffers freed").isEqualTo(books.totalAllocations());
    verifyAfterEach();
  }

  /** Buffers of every location and length can be allocated. */
  @Nested
  public class Allocation extends AllocationConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Arrays are copied to the accelerator and back. */
  @Nested
  public class ArrayCopy extends ArrayCopyConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Segments are copied to the accelerator and back. */
  @Nested
  public class SegmentCopy extends SegmentCopyConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Buffers are copied to buffers. */
  @Nested
  public class BufferCopy extends BufferCopyConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Buffers that a program implements. */
  @Nested
  public class CustomBuffer extends CustomBufferConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Every cell of the state table. */
  @Nested
  public class Coherence extends CoherenceConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Only changed bytes are transferred. */
  @Nested
  public class DirtyRange extends DirtyRangeConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Mappings exclude the device. */
  @Nested
  public class Mapping extends MappingConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Operations run in the order of the requests. */
  @Nested
  public class Order extends OrderConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Elementwise kernels. */
  @Nested
  public class Kernel extends KernelConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Sums, means, least and greatest elements. */
  @Nested
  public class Reduction extends ReductionConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Hand-written kernels. */
  @Nested
  public class HandWrittenKernel extends HandWrittenKernelConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Kernels that are Java methods. */
  @Nested
  public class MethodKernel extends MethodKernelConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Java methods as kernels, with atomic operations, groups and barriers. */
  @Nested
  public class GroupKernel extends GroupKernelConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** The functions of Math in kernels that are Java methods. */
  @Nested
  public class MethodFunction extends MethodFunctionConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Closed objects report that they are closed. */
  @Nested
  public class Closed extends ClosedConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Memory lives as long as operations need it. */
  @Nested
  public class Lifetime extends LifetimeConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Accesses out of bounds are rejected. */
  @Nested
  public class Bounds extends BoundsConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** The statistics are consistent. */
  @Nested
  public class Accounting extends AccountingConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Processes share memory by a name. */
  @Nested
  public class SharedMemory extends SharedMemoryConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Memory that outlives its buffer has the newest bytes when the buffer is closed. */
  @Nested
  public class OutlivedMemory extends OutlivedMemoryConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Memory of other libraries is adopted, and released once. */
  @Nested
  public class AdoptedMemory extends AdoptedMemoryConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Device memory that other code allocated is adopted, and released once. */
  @Nested
  public class AdoptedDeviceMemory extends AdoptedDeviceMemoryConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Tensors and columns are exchanged without copies. */
  @Nested
  public class Exchange extends ExchangeConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Jobs share a device. */
  @Nested
  public class Reservations extends ReservationConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** The device's memory is freed and allocated again. */
  @Nested
  public class SuspensionAndReturn extends SuspensionConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Lists of transfers. */
  @Nested
  public class Transfers extends TransferConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }

  /** Native code uses buffers. */
  @Nested
  public class Lending extends LendingConformance {
    @Override
    protected Bench bench() {
      return AcceleratorConformance.this.bench();
    }
  }
}
