package dev.tidepool.testkit.metal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Command queues, command buffers, encoders and events of the simulated Metal. */
class SimulatedQueuesTest {
  private static final long NOT_ENQUEUED = 0;
  private static final int OUT_OF_MEMORY = 8;

  private final SimulatedMetal simulation = SimulatedMetal.orSkip();
  private Messages metal;
  private long device;
  private long queue;

  @BeforeEach
  void start() {
    metal = Messages.with(simulation, 2);
    device = metal.device(0);
    queue = metal.queue(device);
  }

  private void assertViolation(String... parts) {
    assertThat(simulation.violations())
        .singleElement()
        .satisfies(line -> assertThat(line).contains(parts));
    simulation.forget();
  }

  private void fill(long commands, long buffer, long offset, long length, int value) {
    long encoder = metal.send(commands, "blitCommandEncoder");
    metal.send(encoder, "fillBuffer:range:value:", buffer, Messages.range(offset, length), value);
    metal.send(encoder, "endEncoding");
  }

  @Test
  void aCommandBufferIsCarriedOutAfterItsCommit() {
    long buffer = metal.buffer(device, 64, Messages.SHARED);
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          assertThat(metal.send(commands, "status")).isEqualTo(NOT_ENQUEUED);
          fill(commands, buffer, 16, 32, 7);
          assertThat(metal.contents(buffer).toArray(JAVA_BYTE)).containsOnly(0);
          assertThat(metal.finish(commands)).isEqualTo(Messages.COMPLETED);
          assertThat(metal.send(commands, "error")).isZero();
          assertThat(metal.sendForDouble(commands, "GPUEndTime"))
              .isGreaterThanOrEqualTo(metal.sendForDouble(commands, "GPUStartTime"))
              .isPositive();
        });
    assertThat(metal.contents(buffer).asSlice(0, 16).toArray(JAVA_BYTE)).containsOnly(0);
    assertThat(metal.contents(buffer).asSlice(16, 32).toArray(JAVA_BYTE)).containsOnly(7);
    assertThat(metal.contents(buffer).asSlice(48).toArray(JAVA_BYTE)).containsOnly(0);
    assertThat(simulation.leaks()).hasSize(3);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void theCommandBuffersOfAQueueAreCarriedOutInOrder() {
    long buffer = metal.buffer(device, 64, Messages.SHARED);
    long copies = metal.buffer(device, 64 * 20, Messages.SHARED);
    simulation.set(0, "latency_ns", 100_000);
    metal.pooled(
        () -> {
          long last = 0;
          for (int i = 0; i < 20; i++) {
            last = metal.commands(queue);
            fill(last, buffer, 0, 64, i + 1);
            metal.copy(last, buffer, 0, copies, 64L * i, 64);
            metal.send(last, "commit");
          }
          metal.send(last, "waitUntilCompleted");
        });
    for (int i = 0; i < 20; i++) {
      assertThat(metal.contents(copies).asSlice(64L * i, 64).toArray(JAVA_BYTE))
          .containsOnly(i + 1);
    }
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void aCommandBufferTakesTheLatencyOfItsDevice() {
    simulation.set(0, "latency_ns", 3_000_000);
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          metal.finish(commands);
          double seconds =
              metal.sendForDouble(commands, "GPUEndTime")
                  - metal.sendForDouble(commands, "GPUStartTime");
          assertThat(seconds).isGreaterThanOrEqualTo(0.003);
        });
  }

  @Test
  void blitsMoveOnlySoManyBytesASecond() {
    simulation.set(0, "bandwidth", 1_000_000_000);
    long buffer = metal.buffer(device, 2_000_000, Messages.PRIVATE);
    long other = metal.queue(device);
    metal.pooled(
        () -> {
          long begin = System.nanoTime();
          long one = metal.commands(queue);
          fill(one, buffer, 0, 2_000_000, 1);
          metal.send(one, "commit");
          long two = metal.commands(other);
          fill(two, buffer, 0, 2_000_000, 1);
          metal.finish(two);
          metal.send(one, "waitUntilCompleted");
          assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(4_000_000); // one link
        });
  }

  @Test
  void enqueuingFixesTheOrder() {
    long buffer = metal.buffer(device, 4, Messages.SHARED);
    metal.pooled(
        () -> {
          long first = metal.commands(queue);
          long second = metal.commands(queue);
          metal.send(first, "enqueue");
          fill(second, buffer, 0, 4, 2);
          metal.send(second, "commit");
          fill(first, buffer, 0, 4, 1);
          metal.send(first, "commit");
          metal.send(second, "waitUntilCompleted");
        });
    assertThat(metal.contents(buffer).toArray(JAVA_BYTE)).containsOnly(2);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void commandsKeepWhatTheyUseAlive() {
    long event = metal.send(device, "newSharedEvent");
    long buffer = metal.buffer(device, 64, Messages.SHARED);
    long out = metal.buffer(device, 64, Messages.SHARED);
    metal.pooled(
        () -> {
          metal.contents(buffer).fill((byte) 6);
          long commands = metal.commands(queue);
          metal.send(commands, "encodeWaitForEvent:value:", event, 1L);
          metal.copy(commands, buffer, 0, out, 0, 64);
          metal.send(commands, "commit");
          metal.release(buffer);
          metal.send(event, "setSignaledValue:", 1L);
          metal.send(commands, "waitUntilCompleted");
        });
    assertThat(metal.contents(out).toArray(JAVA_BYTE)).containsOnly(6);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void aCommandBufferThatIsNeverCommittedLetsItsBuffersGo() {
    long buffer = metal.buffer(device, 64, Messages.SHARED);
    metal.pooled(
        () -> {
          fill(metal.commands(queue), buffer, 0, 64, 1);
          metal.release(buffer);
          assertThat(metal.send(device, "currentAllocatedSize")).isPositive();
        });
    assertThat(metal.send(device, "currentAllocatedSize")).isZero();
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void commandsWithoutReferencesNeedTheirBuffersUntilTheyAreDone() {
    long event = metal.send(device, "newSharedEvent");
    long buffer = metal.buffer(device, 64, Messages.SHARED);
    metal.pooled(
        () -> {
          long commands = metal.send(queue, "commandBufferWithUnretainedReferences");
          assertThat(metal.ask(commands, "retainedReferences")).isFalse();
          metal.send(commands, "encodeWaitForEvent:value:", event, 1L);
          fill(commands, buffer, 0, 64, 1);
          metal.send(commands, "commit");
          metal.release(buffer);
          metal.send(event, "setSignaledValue:", 1L);
          metal.send(commands, "waitUntilCompleted");
        });
    assertViolation("released while commands use it");
  }

  @Test
  void whatMetalAloneKeepsAliveIsNotToBeUsed() {
    long event = metal.send(device, "newSharedEvent");
    List<Long> kept = new ArrayList<>();
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          kept.add(commands);
          metal.send(commands, "encodeWaitForEvent:value:", event, 1L);
          metal.send(commands, "commit");
        });
    metal.send(kept.getFirst(), "status");
    assertViolation("the program does not own", "MTLCommandBuffer");
    metal.send(event, "setSignaledValue:", 1L);
  }

  @Test
  void blitsStayInsideAndAtMultiplesOfFour() {
    long from = metal.buffer(device, 64, Messages.SHARED);
    long to = metal.buffer(device, 32, Messages.SHARED);
    long[][] wrong = {
      {0, 0, 36}, {36, 0, 32}, {0, 4, 32}, {2, 0, 4}, {0, 2, 4}, {0, 0, 6}, {0, 0, 0}
    };
    metal.pooled(
        () -> {
          for (long[] copy : wrong) {
            long commands = metal.commands(queue);
            metal.copy(commands, from, copy[0], to, copy[1], copy[2]);
            assertViolation("copyFromBuffer:");
            assertThat(metal.finish(commands)).isEqualTo(Messages.FAILED);
          }
          for (long[] range : new long[][] {{0, 68}, {2, 4}, {0, 6}}) {
            long commands = metal.commands(queue);
            fill(commands, from, range[0], range[1], 1);
            assertViolation("fillBuffer:range:value:");
            assertThat(metal.finish(commands)).isEqualTo(Messages.FAILED);
          }
          long commands = metal.commands(queue);
          metal.copy(commands, from, 0, from, 16, 32);
          assertViolation("overlap");
        });
  }

  @Test
  void aBufferOfAnotherDeviceIsAViolation() {
    long other = metal.buffer(metal.device(1), 64, Messages.SHARED);
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          fill(commands, other, 0, 64, 1);
          assertViolation("on device 1", "of device 0");
        });
  }

  @Test
  void anEncoderIsEndedBeforeTheCommit() {
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          metal.send(commands, "blitCommandEncoder");
          assertThat(metal.send(commands, "computeCommandEncoder")).isZero();
          assertViolation("computeCommandEncoder: MTLBlitCommandEncoder", "not ended");
          metal.send(commands, "commit");
          assertViolation("commit: MTLBlitCommandEncoder was not ended");
          metal.send(commands, "waitUntilCompleted");
          assertThat(metal.send(commands, "status")).isEqualTo(Messages.FAILED);
          metal.send(commands, "commit");
          assertViolation("committed before");
          assertThat(metal.send(commands, "blitCommandEncoder")).isZero();
          assertViolation("blitCommandEncoder: the command buffer was committed before");
        });
  }

  @Test
  void anEndedEncoderTakesNoCommands() {
    long buffer = metal.buffer(device, 64, Messages.SHARED);
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          long encoder = metal.send(commands, "blitCommandEncoder");
          metal.send(encoder, "endEncoding");
          metal.send(encoder, "fillBuffer:range:value:", buffer, Messages.range(0, 64), 1);
          assertViolation("fillBuffer:range:value:: the encoder was ended");
          metal.send(encoder, "endEncoding");
          assertViolation("endEncoding");
        });
  }

  @Test
  void anEncoderThatIsReleasedOpenIsAViolation() {
    metal.pooled(() -> metal.send(metal.commands(queue), "blitCommandEncoder"));
    assertViolation("released while MTLBlitCommandEncoder was not ended");
  }

  @Test
  void waitingBeforeTheCommitWouldBeForEver() {
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          metal.send(commands, "waitUntilCompleted");
          assertViolation("waitUntilCompleted", "not committed");
        });
  }

  @Test
  void eventsOrderTheCommandsOfTwoQueues() {
    long other = metal.queue(device);
    long event = metal.send(device, "newSharedEvent");
    long buffer = metal.buffer(device, 64, Messages.SHARED);
    long out = metal.buffer(device, 64, Messages.SHARED);
    simulation.set(0, "latency_ns", 1_000_000);
    metal.pooled(
        () -> {
          long second = metal.commands(other);
          metal.send(second, "encodeWaitForEvent:value:", event, 5L);
          metal.copy(second, buffer, 0, out, 0, 64);
          metal.send(second, "commit");
          long first = metal.commands(queue);
          fill(first, buffer, 0, 64, 3);
          metal.send(first, "encodeSignalEvent:value:", event, 5L);
          metal.send(first, "commit");
          metal.send(second, "waitUntilCompleted");
        });
    assertThat(metal.contents(out).toArray(JAVA_BYTE)).containsOnly(3);
    assertThat(metal.send(event, "signaledValue")).isEqualTo(5);
    assertThat(metal.ask(event, "waitUntilSignaledValue:timeoutMS:", 5L, 1L)).isTrue();
    assertThat(metal.ask(event, "waitUntilSignaledValue:timeoutMS:", 6L, 1L)).isFalse();
    assertThat(simulation.violations()).isEmpty();
    metal.send(event, "setSignaledValue:", 4L);
    assertViolation("below its value of 5");
  }

  @Test
  void aFailedCommandBufferSignalsNoEventAndSaysWhy() {
    long event = metal.send(device, "newSharedEvent");
    long buffer = metal.buffer(device, 64, Messages.SHARED);
    simulation.fail("execute", 1, OUT_OF_MEMORY);
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          fill(commands, buffer, 0, 64, 1);
          metal.send(commands, "encodeSignalEvent:value:", event, 1L);
          assertThat(metal.finish(commands)).isEqualTo(Messages.FAILED);
          long error = metal.send(commands, "error");
          assertThat(metal.send(error, "code")).isEqualTo(OUT_OF_MEMORY);
          assertThat(metal.text(metal.send(error, "domain")))
              .isEqualTo("MTLCommandBufferErrorDomain");
          assertThat(metal.text(metal.send(error, "localizedDescription")))
              .isEqualTo("Insufficient Memory (00000008)");
          long next = metal.commands(queue);
          assertThat(metal.finish(next)).isEqualTo(Messages.COMPLETED);
        });
    assertThat(metal.send(event, "signaledValue")).isZero();
    assertThat(metal.contents(buffer).toArray(JAVA_BYTE)).containsOnly(0);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void aLostDeviceFailsEverythingFromThenOn() {
    simulation.set(0, "lost", 11);
    metal.pooled(
        () -> {
          for (int i = 0; i < 2; i++) {
            long commands = metal.commands(queue);
            assertThat(metal.finish(commands)).isEqualTo(Messages.FAILED);
            assertThat(metal.send(metal.send(commands, "error"), "code")).isEqualTo(11);
          }
        });
  }

  @Test
  void aQueueHasSoManyCommandBuffersAtATime() throws InterruptedException {
    long small = metal.send(device, "newCommandQueueWithMaxCommandBufferCount:", 2L);
    long event = metal.send(device, "newSharedEvent");
    List<String> order = new ArrayList<>();
    metal.pooled(
        () -> {
          for (int i = 0; i < 2; i++) {
            long commands = metal.commands(small);
            metal.send(commands, "encodeWaitForEvent:value:", event, 1L);
            metal.send(commands, "commit");
          }
        });
    Thread third =
        Thread.ofPlatform()
            .start(
                () ->
                    metal.pooled(
                        () -> {
                          metal.commands(small);
                          synchronized (order) {
                            order.add("third");
                          }
                        }));
    synchronized (order) {
      order.add("signal");
      metal.send(event, "setSignaledValue:", 1L);
    }
    third.join();
    assertThat(order).containsExactly("signal", "third");
    assertThat(simulation.violations()).isEmpty();
    metal.pooled(
        () -> {
          metal.commands(small);
          metal.commands(small);
          metal.commands(small);
        });
    assertViolation("commandBuffer", "for ever");
  }

  @Test
  void aLaunchFitsItsKernel() {
    simulation.set(0, "threads_per_group", 64);
    long pipeline =
        metal.pipeline(
            device,
            "f",
            """
            kernel void f(device float* out [[buffer(0)]], constant float4& by [[buffer(1)]],
                          threadgroup float* scratch [[threadgroup(0)]],
                          uint i [[thread_position_in_grid]]) {
              scratch[0] = by.x;
              out[i] = scratch[0];
            }
            """);
    long out = metal.buffer(device, 256, Messages.SHARED);
    long by = metal.buffer(device, 20, Messages.SHARED);
    assertThat(metal.send(pipeline, "maxTotalThreadsPerThreadgroup")).isEqualTo(64);
    metal.pooled(
        () -> {
          refused(0, out, by, 0, 16, 64, "no pipeline");
          refused(pipeline, out, by, 0, 16, 65, "65 threads in a threadgroup");
          refused(pipeline, out, by, 0, 16, 0, "a size of 0");
          refused(pipeline, 0, by, 0, 16, 64, "nothing is bound at index 0");
          refused(pipeline, out, by, 16, 16, 64, "4 bytes at index 1");
          refused(pipeline, out, by, 4, 16, 64, "not a multiple of 16");
          refused(pipeline, out, by, 20, 16, 64, "offset 20");
          refused(pipeline, out, by, 0, 8, 64, "not a multiple of 16");
          refused(pipeline, out, by, 0, 0, 64, "0 bytes of threadgroup memory");
          refused(pipeline, out, by, 0, 1 << 20, 64, "where the device has 32768");
        });
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          long encoder = metal.send(commands, "computeCommandEncoder");
          metal.send(encoder, "setBytes:length:atIndex:", MemorySegment.ofAddress(64), 5000L, 0L);
          assertViolation("5000 bytes, where at most 4096 are copied");
          metal.send(encoder, "setBuffer:offset:atIndex:", out, 0L, 31L);
          assertViolation("index 31");
          metal.send(encoder, "endEncoding");
        });
  }

  private void refused(
      long pipeline, long out, long by, long offset, long scratch, long inGroup, String why) {
    long commands = metal.commands(queue);
    long encoder = metal.send(commands, "computeCommandEncoder");
    if (pipeline != 0) {
      metal.send(encoder, "setComputePipelineState:", pipeline);
    }
    metal.send(encoder, "setBuffer:offset:atIndex:", out, 0L, 0L);
    metal.send(encoder, "setBuffer:offset:atIndex:", by, offset, 1L);
    metal.send(encoder, "setThreadgroupMemoryLength:atIndex:", scratch, 0L);
    metal.send(
        encoder,
        "dispatchThreads:threadsPerThreadgroup:",
        Messages.size(64, 1, 1),
        Messages.size(inGroup, 1, 1));
    metal.send(encoder, "endEncoding");
    assertThat(metal.finish(commands)).isEqualTo(Messages.FAILED);
    assertThat(simulation.violations()).first().asString().contains(why);
    simulation.forget();
  }

  @Test
  void constantMemoryOfOtherDevicesThanApplesIsAtMultiplesOf256() {
    simulation.set(0, "unified", 0);
    long pipeline =
        metal.pipeline(
            device,
            "f",
            """
            kernel void f(device float* out [[buffer(0)]], constant float& by [[buffer(1)]]) {
              out[0] = by;
            }
            """);
    long out = metal.buffer(device, 4, Messages.SHARED);
    long by = metal.buffer(device, 512, Messages.SHARED);
    metal.pooled(
        () -> {
          refused(pipeline, out, by, 128, 16, 1, "not a multiple of 256");
          assertThat(simulation.violations()).isEmpty();
        });
  }

  @Test
  void aNewStartEndsWhatIsThere() {
    long event = metal.send(device, "newSharedEvent");
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          metal.send(commands, "encodeWaitForEvent:value:", event, 1L);
          metal.send(commands, "commit");
        });
    assertThat(simulation.leaks()).hasSize(3);
    simulation.reset(1);
    assertThat(simulation.leaks()).isEmpty();
    assertThat(simulation.violations()).isEmpty();
    metal.send(queue, "commandBuffer");
    assertViolation("is no object");
  }
}
