package dev.tidepool.runtime.supply;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.tidepool.Accelerator;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.host.HostBlock;
import dev.tidepool.host.HostPlatform;
import dev.tidepool.host.HostRequest;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.NumaPolicy;
import dev.tidepool.pooling.PoolStatistics;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Host blocks of pools come from the caller's NUMA node, on an emulated machine with two. */
class HostPoolsTest {
  private static final int LARGE = 1 << 20;

  /** What is asked of the system: memory with a policy. */
  private record Call(NumaPolicy policy, long address, long bytes) {
    boolean covers(long at, long count) {
      return address <= at && at + count <= address + bytes;
    }
  }

  /** Nodes 3 and 5. A thread is where it says. */
  private static class Machine implements NodeMemory {
    final List<Call> calls = new CopyOnWriteArrayList<>();
    final ThreadLocal<Integer> place = ThreadLocal.withInitial(() -> 0);

    @Override
    public List<Integer> nodes() {
      return List.of(3, 5);
    }

    @Override
    public int placeOfCaller() {
      return place.get();
    }

    @Override
    public HostBlock allocate(MemoryAllocator allocator, HostRequest request, int node) {
      HostBlock block = allocator.allocate(request);
      calls.add(new Call(NumaPolicy.preferred(node), block.segment().address(), request.bytes()));
      return block;
    }
  }

  private final Machine machine = new Machine();

  /** Runs an action that sees another machine. */
  private static <T> T on(NodeMemory machine, Supplier<T> action) {
    return ScopedValue.where(NodeMemory.EmulatedNodes.MACHINE, machine).call(action::get);
  }

  private Tidepool open(MemoryOptions.Builder options) {
    return on(machine, () -> Tidepool.open(options.build()));
  }

  private static UnifiedMemoryManager cpu(Tidepool tidepool) {
    return tidepool.memory(tidepool.accelerator("cpu:0"));
  }

  private static long address(UnifiedBuffer<byte[]> buffer) {
    return buffer.asSegment().address();
  }

  /** Allocates, touches and closes a buffer on a node; returns where it was. */
  private long usedOn(int place, UnifiedMemoryManager memory, long bytes) {
    machine.place.set(place);
    try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes)) {
      buffer.asSegment().fill((byte) place);
      return address(buffer);
    }
  }

  private NumaPolicy policyOf(UnifiedBuffer<byte[]> buffer) {
    return machine.calls.reversed().stream()
        .filter(call -> call.covers(address(buffer), buffer.byteSize()))
        .findFirst()
        .map(Call::policy)
        .orElse(NumaPolicy.LOCAL);
  }

  @ParameterizedTest
  @ValueSource(ints = {100, 5_000, LARGE})
  void memoryIsAskedForFromTheNodeOfTheCaller(int bytes) {
    try (Tidepool tidepool = open(MemoryOptions.builder())) {
      for (MemoryLocation location :
          List.of(MemoryLocation.HOST, MemoryLocation.DEVICE, MemoryLocation.UNIFIED)) {
        for (int place = 0; place < 2; place++) {
          machine.place.set(place);
          try (UnifiedBuffer<byte[]> buffer =
              cpu(tidepool).allocate(ElementType.BYTE, bytes, location)) {
            assertThat(policyOf(buffer)).isEqualTo(NumaPolicy.preferred(place == 0 ? 3 : 5));
          }
        }
      }
    }
  }

  /** Asks for a node of this machine, and for one that no machine has. */
  @Test
  void aBlockOfANodePrefersTheMemoryOfThatNode() {
    HostPlatform platform = HostPlatform.probe();
    int node = HostPlatform.usableNumaNodes().getLast();
    NodeMemory real = new NodeMemory.Nodes(List.of(node), () -> 0);
    MemoryAllocator allocator = new MemoryAllocator();
    HostBlock block = real.allocate(allocator, HostRequest.of(100), node);
    assertThat(block.backing().numa())
        .isEqualTo(platform.numaPolicies() ? NumaPolicy.preferred(node) : NumaPolicy.LOCAL);
    block.free();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> real.allocate(allocator, HostRequest.of(100), 4242))
        .withMessageContaining("no NUMA node 4242");
  }

  @Test
  void anIdleBlockGoesToCallersOfItsNodeOnly() {
    try (Tidepool tidepool = open(MemoryOptions.builder())) {
      UnifiedMemoryManager memory = cpu(tidepool);
      long first = usedOn(0, memory, LARGE);
      long second = usedOn(1, memory, LARGE);
      assertThat(second).isNotEqualTo(first);
      assertThat(usedOn(0, memory, LARGE)).isEqualTo(first);
      assertThat(usedOn(1, memory, LARGE)).isEqualTo(second);
      assertThat(machine.calls).hasSize(2);
    }
  }

  @Test
  void aBlockReturnsToItsNodeWhoeverGivesItBack() {
    try (Tidepool tidepool = open(MemoryOptions.builder())) {
      UnifiedMemoryManager memory = cpu(tidepool);
      machine.place.set(1);
      UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, LARGE);
      long address = address(buffer);
      machine.place.set(0);
      buffer.close();
      assertThat(usedOn(0, memory, LARGE)).isNotEqualTo(address);
      assertThat(usedOn(1, memory, LARGE)).isEqualTo(address);
    }
  }

  @Test
  void figuresAndTrimmingCoverAllNodes() {
    try (Tidepool tidepool = open(MemoryOptions.builder())) {
      UnifiedMemoryManager memory = cpu(tidepool);
      var _ = usedOn(0, memory, LARGE);
      var _ = usedOn(1, memory, LARGE);
      assertThat(memory.pools())
          .filteredOn(pool -> pool.name().startsWith("host memory"))
          .extracting(PoolStatistics::name)
          .containsExactly("host memory of node 3", "host memory of node 5");
      assertThat(memory.statistics().totalPooled()).isEqualTo(2 * LARGE);
      assertThat(memory.statistics().poolMisses()).isEqualTo(2);
      assertThat(memory.trimExcess()).isEqualTo(2 * LARGE);
      assertThat(memory.statistics().reservedBytes()).isZero();
    }
  }

  @Test
  void aLimitCountsAllNodes() {
    try (Tidepool tidepool = open(MemoryOptions.builder())) {
      Accelerator accelerator = tidepool.accelerator("cpu:0");
      MemoryOptions limited = MemoryOptions.builder().memoryLimit(3 * LARGE).build();
      try (UnifiedMemoryManager memory =
          on(machine, () -> UnifiedMemoryManager.create(accelerator, limited))) {
        var _ = usedOn(0, memory, 2 * LARGE);
        // What lies idle on the other node makes room.
        var _ = usedOn(1, memory, 2 * LARGE);
        assertThat(memory.statistics().reservedBytes()).isLessThanOrEqualTo(3 * LARGE);
      }
    }
  }

  @Test
  void threadsOfBothNodesUseOneManager() throws InterruptedException {
    try (Tidepool tidepool = open(MemoryOptions.builder())) {
      UnifiedMemoryManager memory = cpu(tidepool);
      List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
      CountDownLatch ended = new CountDownLatch(4);
      for (int t = 0; t < 4; t++) {
        int thread = t;
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    workOn(thread % 2, memory, new SplittableRandom(thread));
                  } catch (Throwable e) {
                    failures.add(e);
                  } finally {
                    ended.countDown();
                  }
                });
      }
      ended.await();
      assertThat(failures).isEmpty();
      assertThat(memory.statistics().activeBuffers()).isZero();
    }
  }

  private void workOn(int place, UnifiedMemoryManager memory, SplittableRandom random) {
    machine.place.set(place);
    for (int i = 0; i < 500; i++) {
      try (UnifiedBuffer<byte[]> buffer =
          memory.allocate(ElementType.BYTE, random.nextInt(1, 20_000))) {
        assertThat(policyOf(buffer)).isEqualTo(NumaPolicy.preferred(place == 0 ? 3 : 5));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(value = MemoryLocation.class, names = "PINNED", mode = EnumSource.Mode.EXCLUDE)
  void aMachineWithOneNodeIsNeverAskedWhereAThreadIs(MemoryLocation location) {
    NodeMemory alone =
        new NodeMemory() {
          @Override
          public List<Integer> nodes() {
            return List.of(0);
          }

          @Override
          public int placeOfCaller() {
            throw new AssertionError("asked for the node of a thread");
          }

          @Override
          public HostBlock allocate(MemoryAllocator allocator, HostRequest request, int node) {
            throw new AssertionError("asked for memory of a node");
          }
        };
    try (Tidepool tidepool = on(alone, () -> Tidepool.open(MemoryOptions.defaults()))) {
      for (int i = 0; i < 3; i++) {
        try (UnifiedBuffer<byte[]> buffer =
            cpu(tidepool).allocate(ElementType.BYTE, LARGE, location)) {
          buffer.asSegment().fill((byte) i);
        }
      }
      assertThat(cpu(tidepool).pools())
          .filteredOn(pool -> pool.name().startsWith("host memory"))
          .extracting(PoolStatistics::name)
          .containsExactly("host memory");
    }
  }
}
