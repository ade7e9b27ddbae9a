package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.spi.Block;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.junit.jupiter.api.Test;

class BusyBlockTest {
  private static Block block;
  private static boolean freedInsideTheCall;
  private static long busyInsideTheCall;
  private static byte readInsideTheCall;

  /** What the C library's {@code qsort} calls while it holds the block's segment. */
  private static int compare(MemorySegment a, MemorySegment b) {
    if (!freedInsideTheCall) {
      freedInsideTheCall = true;
      block.free();
      busyInsideTheCall = MemoryAllocator.busyBytes();
      readInsideTheCall = block.segment().get(JAVA_BYTE, 0);
    }
    return 0;
  }

  @Test
  void aBlockThatANativeCallUsesIsFreedWhenTheCallEnds() throws Throwable {
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
    block = new MemoryAllocator().allocate(64);
    MemorySegment segment = block.segment().fill((byte) 7);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment callback =
          linker.upcallStub(compare, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS), arena);
      qsort.invokeExact(segment, 64L, 1L, callback);
    }
    assertThat(freedInsideTheCall).isTrue();
    assertThat(busyInsideTheCall).isGreaterThanOrEqualTo(64);
    assertThat(readInsideTheCall).isEqualTo((byte) 7);
    await().until(() -> !segment.scope().isAlive());
    await().until(() -> MemoryAllocator.busyBytes() == 0);
  }
}
