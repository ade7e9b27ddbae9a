package dev.tidepool.testkit.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.CountDownLatch;

/** Holds a stream up until it is opened. */
final class Gate {
  private final CountDownLatch latch = new CountDownLatch(1);

  private Gate() {}

  static Gate closed(Driver cuda, long stream) {
    Gate gate = new Gate();
    run(cuda, stream, gate::await);
    return gate;
  }

  void open() {
    latch.countDown();
  }

  private void await() {
    try {
      latch.await();
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
    }
  }

  /** Has a stream call the body. */
  static void run(Driver cuda, long stream, Runnable body) {
    try {
      MemorySegment function =
          Linker.nativeLinker()
              .upcallStub(
                  MethodHandles.dropArguments(
                      MethodHandles.lookup()
                          .findVirtual(Runnable.class, "run", MethodType.methodType(void.class))
                          .bindTo(body),
                      0,
                      MemorySegment.class),
                  FunctionDescriptor.ofVoid(ValueLayout.ADDRESS),
                  Arena.global()); // nobody knows when the driver is done with it
      cuda.must("cuLaunchHostFunc", stream, function, MemorySegment.NULL);
    } catch (ReflectiveOperationException impossible) {
      throw new AssertionError(impossible);
    }
  }
}
