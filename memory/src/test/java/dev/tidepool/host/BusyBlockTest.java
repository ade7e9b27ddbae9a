package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class BusyBlockTest {
  private static Runnable insideTheCall = () -> {};

  /** What the C library's {@code qsort} calls while it holds the segment. */
  private static int compare(MemorySegment a, MemorySegment b) {
    insideTheCall.run();
    insideTheCall = () -> {};
    return 0;
  }

  /** Runs an action, once, while a native call uses a segment. */
  private static void whileUsed(MemorySegment segment, Runnable action) throws Throwable {
    Linker linker = Linker.nativeLinker();
    MethodHandle qsort =
        linker.downcallHandle(
            linker.defaultLookup().findOrThrow("qsort"),
            FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS));
    MethodHandle compare =
        MethodHandles.lookup()
            .findStatic(
                BusyBlockTest.class,
                "compare",
                MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class));
    insideTheCall = action;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment callback =
          linker.upcallStub(compare, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS), arena);
      qsort.invokeExact(segment, segment.byteSize(), 1L, callback);
    }
  }

  private static void assertFreedAfterACall(HostBlock block) throws Throwable {
    MemorySegment segment = block.segment().fill((byte) 7);
    List<Byte> seen = new ArrayList<>();
    whileUsed(
        segment,
        () -> {
          block.free();
          seen.add(segment.get(JAVA_BYTE, 0));
        });
    assertThat(seen).containsExactly((byte) 7);
    await().until(() -> !segment.scope().isAlive());
  }

  @Test
  void aBlockThatANativeCallUsesIsFreedWhenTheCallEnds() throws Throwable {
    assertFreedAfterACall(new MemoryAllocator().allocate(64));
  }

  @Test
  void severalBlocksThatNativeCallsUseAreFreed() throws Throwable {
    MemoryAllocator allocator = new MemoryAllocator();
    List<HostBlock> blocks = Stream.generate(() -> allocator.allocate(64)).limit(3).toList();
    whileUsed(
        blocks.get(0).segment(),
        () -> {
          try {
            whileUsed(blocks.get(1).segment(), () -> blocks.forEach(HostBlock::free));
          } catch (Throwable e) {
            throw new AssertionError(e);
          }
        });
    await().until(() -> blocks.stream().noneMatch(block -> block.segment().scope().isAlive()));
    await().until(() -> allocator.statistics().allocated().blocks() == 0);
  }

  @Test
  void anErrorOfOneReleaseKeepsNoOtherBlock() throws Throwable {
    MemoryAllocator allocator = new MemoryAllocator();
    HostBlock owner = allocator.allocate(64);
    MemorySegment memory = MemorySegment.ofAddress(owner.segment().address()).reinterpret(64);
    assertFreedAfterACall(
        allocator.adopt(
            memory,
            () -> {
              throw new AssertionError("on purpose");
            }));
    await().until(() -> allocator.statistics().wrapped().blocks() == 0);
    assertFreedAfterACall(blockThatFails(memory));
    assertFreedAfterACall(allocator.allocate(64));
    owner.free();
  }

  /** A block whose memory cannot be given back. */
  private static HostBlock blockThatFails(MemorySegment memory) {
    Arena arena = Arena.ofShared();
    return new HostBlock(
        true,
        arena,
        memory.reinterpret(arena, null),
        GrantedMemory.plain(memory.byteSize()),
        () -> {
          throw new OutOfMemoryError("on purpose");
        });
  }
}
