package dev.tidepool.testkit.metal;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Metal's language, compiled and carried out. */
class SimulatedKernelsTest {
  private static final String HEAD =
      """
      #include <metal_stdlib>
      using namespace metal;
      """;

  private final SimulatedMetal simulation = SimulatedMetal.orSkip();
  private Messages metal;
  private long device;
  private long queue;

  @BeforeEach
  void start() {
    metal = Messages.with(simulation, 1);
    device = metal.device(0);
    queue = metal.queue(device);
  }

  @AfterEach
  void nothingIsLeft() {
    metal.release(queue);
    metal.release(device);
    assertThat(simulation.leaks()).isEmpty();
  }

  private void run(long pipeline, long threads, long inGroup, long... buffers) {
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          metal.launch(commands, pipeline, threads, inGroup, buffers);
          assertThat(metal.finish(commands)).isEqualTo(Messages.COMPLETED);
        });
  }

  /** The results of a kernel of one output, each thread's argument its position. */
  private float[] results(String source, int threads) {
    long pipeline = metal.pipeline(device, "f", HEAD + source);
    long out = metal.buffer(device, 4L * threads, Messages.SHARED);
    run(pipeline, threads, threads, out);
    float[] results = Messages.floats(metal.contents(out));
    metal.release(out);
    metal.release(pipeline);
    return results;
  }

  @Test
  void aKernelAddsArrays() {
    long pipeline =
        metal.pipeline(
            device,
            "add",
            HEAD
                + """
                struct Values { float factor; int count; };
                kernel void add(device const float* a [[buffer(0)]], device float* sum [[buffer(1)]],
                                constant Values& values [[buffer(2)]],
                                uint i [[thread_position_in_grid]]) {
                  if (int(i) < values.count) {
                    sum[i] = a[i] * values.factor + 1;
                  }
                }
                """);
    int count = 1000;
    long a = metal.buffer(device, 4L * count, Messages.SHARED);
    long sum = metal.buffer(device, 4L * count, Messages.SHARED);
    for (int i = 0; i < count; i++) {
      metal.contents(a).setAtIndex(JAVA_FLOAT, i, i);
    }
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          long encoder = metal.send(commands, "computeCommandEncoder");
          metal.send(encoder, "setComputePipelineState:", pipeline);
          metal.send(encoder, "setBuffer:offset:atIndex:", a, 0L, 0L);
          metal.send(encoder, "setBuffer:offset:atIndex:", sum, 0L, 1L);
          try (Arena arena = Arena.ofConfined()) {
            MemorySegment values = arena.allocate(8, 4);
            values.set(JAVA_FLOAT, 0, 2);
            values.set(JAVA_INT, 4, count - 1);
            metal.send(encoder, "setBytes:length:atIndex:", values, 8L, 2L);
            values.fill((byte) 0);
          }
          metal.send(
              encoder,
              "dispatchThreadgroups:threadsPerThreadgroup:",
              Messages.size(16, 1, 1),
              Messages.size(64, 1, 1));
          metal.send(encoder, "endEncoding");
          assertThat(metal.finish(commands)).isEqualTo(Messages.COMPLETED);
        });
    for (int i = 0; i < count; i++) {
      assertThat(metal.contents(sum).getAtIndex(JAVA_FLOAT, i))
          .isEqualTo(i < count - 1 ? 2 * i + 1 : 0);
    }
    metal.release(a);
    metal.release(sum);
    metal.release(pipeline);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void threadsOfAGroupMeetAtBarriers() {
    long pipeline =
        metal.pipeline(
            device,
            "sums",
            HEAD
                + """
                kernel void sums(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                                 uint3 local [[thread_position_in_threadgroup]],
                                 uint3 group [[threadgroup_position_in_grid]],
                                 uint3 size [[threads_per_threadgroup]]) {
                  threadgroup int tile[64];
                  tile[local.x] = in[group.x * 64 + local.x];
                  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
                  for (uint half_ = 32; half_ > 0; half_ /= 2) {
                    if (local.x < half_ && local.x + half_ < size.x) {
                      tile[local.x] += tile[local.x + half_];
                    }
                    threadgroup_barrier(mem_flags::mem_threadgroup);
                  }
                  if (local.x == 0) {
                    out[group.x] = tile[0];
                  }
                }
                """);
    assertThat(metal.send(pipeline, "staticThreadgroupMemoryLength")).isEqualTo(256);
    int count = 64 * 20;
    long in = metal.buffer(device, 4L * count, Messages.SHARED);
    long out = metal.buffer(device, 4L * 20, Messages.SHARED);
    for (int i = 0; i < count; i++) {
      metal.contents(in).setAtIndex(JAVA_INT, i, i);
    }
    run(pipeline, count, 64, in, out);
    for (int group = 0; group < 20; group++) {
      assertThat(metal.contents(out).getAtIndex(JAVA_INT, group))
          .isEqualTo(64 * 64 * group + 63 * 64 / 2);
    }
    metal.release(in);
    metal.release(out);
    metal.release(pipeline);
  }

  @Test
  void groupMemoryOfTheLaunchAndAtomicsWork() {
    long pipeline =
        metal.pipeline(
            device,
            "count",
            HEAD
                + """
                kernel void count(device int* out [[buffer(0)]],
                                  threadgroup int* scratch [[threadgroup(0)]],
                                  uint local [[thread_index_in_threadgroup]],
                                  uint all [[threads_per_grid]]) {
                  scratch[local] = int(all);
                  threadgroup_barrier(mem_flags::mem_threadgroup);
                  atomic_fetch_add_explicit((device atomic_int*)out, scratch[31 - local],
                                            memory_order_relaxed);
                  atomic_fetch_max_explicit((device atomic_int*)(out + 1), int(local),
                                            memory_order_relaxed);
                }
                """);
    long out = metal.buffer(device, 8, Messages.SHARED);
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          long encoder = metal.send(commands, "computeCommandEncoder");
          metal.send(encoder, "setComputePipelineState:", pipeline);
          metal.send(encoder, "setBuffer:offset:atIndex:", out, 0L, 0L);
          metal.send(encoder, "setThreadgroupMemoryLength:atIndex:", 128L, 0L);
          metal.send(
              encoder,
              "dispatchThreadgroups:threadsPerThreadgroup:",
              Messages.size(3, 1, 1),
              Messages.size(32, 1, 1));
          metal.send(encoder, "endEncoding");
          assertThat(metal.finish(commands)).isEqualTo(Messages.COMPLETED);
        });
    assertThat(metal.contents(out).toArray(JAVA_INT)).containsExactly(96 * 96, 31);
    metal.release(out);
    metal.release(pipeline);
  }

  @Test
  void aGridThatGroupsDoNotDivideHasSmallerGroupsAtItsEnd() {
    long pipeline =
        metal.pipeline(
            device,
            "f",
            HEAD
                + """
                kernel void f(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]],
                              uint size [[threads_per_threadgroup]],
                              uint asked [[dispatch_threads_per_threadgroup]]) {
                  out[i] = 100 * size + asked;
                }
                """);
    long out = metal.buffer(device, 4L * 12, Messages.SHARED);
    run(pipeline, 10, 4, out);
    assertThat(metal.contents(out).toArray(JAVA_INT))
        .containsExactly(404, 404, 404, 404, 404, 404, 404, 404, 204, 204, 0, 0);
    metal.release(out);
    metal.release(pipeline);
  }

  @Test
  void theReflectionSaysWhatAFunctionTakes() {
    Messages.Compiled compiled =
        metal.compile(
            device,
            HEAD
                + """
                kernel void f(device const float* in [[buffer(2)]], device long* out [[buffer(0)]],
                              constant uint& n [[buffer(1)]], device int* idle [[buffer(5)]],
                              threadgroup half* scratch [[threadgroup(0)]],
                              uint i [[thread_position_in_grid]]) {
                  scratch[0] = half(in[i]);
                  out[i] = n;
                }
                """);
    long name = metal.string("f");
    long function = metal.send(compiled.library(), "newFunctionWithName:", name);
    metal.pooled(
        () -> {
          try (Arena arena = Arena.ofConfined()) {
            MemorySegment reflection = arena.allocate(JAVA_LONG);
            long pipeline =
                metal.send(
                    device,
                    "newComputePipelineStateWithFunction:options:reflection:error:",
                    function,
                    3L,
                    reflection,
                    MemorySegment.NULL);
            long bindings = metal.send(reflection.get(JAVA_LONG, 0), "bindings");
            StringBuilder text = new StringBuilder();
            for (long i = 0; i < metal.send(bindings, "count"); i++) {
              long binding = metal.send(bindings, "objectAtIndex:", i);
              boolean isBuffer = metal.send(binding, "type") == 0;
              text.append(metal.text(metal.send(binding, "name")))
                  .append(metal.send(binding, "index"))
                  .append(metal.send(binding, "access") == 0 ? " read" : " written")
                  .append(metal.ask(binding, "isUsed") ? "" : " unused")
                  .append(" ")
                  .append(
                      metal.send(
                          binding, isBuffer ? "bufferDataSize" : "threadgroupMemoryDataSize"))
                  .append(isBuffer ? " of type " + metal.send(binding, "bufferDataType") : "")
                  .append("\n");
            }
            assertThat(text.toString())
                .isEqualTo(
                    """
                    in2 read 4 of type 3
                    out0 written 8 of type 81
                    n1 read 4 of type 33
                    idle5 written unused 4 of type 29
                    scratch0 written 2
                    """);
            metal.release(pipeline);
          }
        });
    metal.release(function);
    metal.release(name);
    metal.release(compiled.library());
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void whatDoesNotCompileIsAnErrorWithItsLine() {
    assertThat(
            metal
                .compile(
                    device,
                    "kernel void f(device float* out [[buffer(0)]]) {\n  out[0] = undefined;\n}\n")
                .error())
        .startsWith("program_source:2:12: error: ")
        .contains("undefined");
    assertThat(metal.compile(device, "int x;\n#include <vector>\n").error())
        .isEqualTo("program_source:2:10: fatal error: 'vector' file not found\n");
    assertThat(
            metal
                .compile(
                    device, "kernel void f(device float* p [[buffer(0)]]) {\n double d = 1;\n}")
                .error())
        .startsWith("program_source:2:2: error: 'double' is not supported");
    assertThat(metal.compile(device, "void f() {\n\n goto end;\n end:;\n}").error())
        .startsWith("program_source:3:2: error: 'goto'");
    assertThat(metal.compile(device, "kernel void f(float* p [[buffer(0)]]) {}").error())
        .contains("address space");
    assertThat(metal.compile(device, "kernel void f(uint i) {}").error()).contains("'i'");
    Messages.Compiled fine = metal.compile(device, "/* goto, double */ constant int x = 1;");
    assertThat(fine.error()).isEmpty();
    metal.release(fine.library());
  }

  @Test
  void contractionIsOnUntilTheSourceSwitchesItOff() {
    String body =
        """
        kernel void f(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
          float a = 1 + 0x1p-13f * (i + 1);
          float b = 1 - 0x1p-13f * (i + 1);
          out[i] = a * b - 1.0f;
        }
        """;
    assertThat(results("#pragma METAL fp contract(off)\n" + body, 1)).containsExactly(0);
    assumeTrue(hasFusedMultiplyAdd(), "the processor has no fused multiply-add");
    assertThat(results(body, 1)).containsExactly(-0x1p-26f);
  }

  private static boolean hasFusedMultiplyAdd() {
    try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"))) {
      return lines.anyMatch(line -> line.startsWith("flags") && line.contains(" fma "));
    } catch (IOException absent) {
      return false;
    }
  }

  @Test
  void functionsAreAsWrongAsTheLanguagePermits() {
    float[] results =
        results(
            """
            kernel void f(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
              out[i] = exp(float(i) / 16);
            }
            """,
            256);
    int worst = 0;
    for (int i = 0; i < results.length; i++) {
      float exact = (float) Math.exp(i / 16.0);
      worst =
          Math.max(worst, Math.abs(Float.floatToIntBits(results[i]) - Float.floatToIntBits(exact)));
    }
    assertThat(worst).isBetween(3, 5);
  }

  @Test
  void subnormalNumbersAreFlushedUnlessTheDeviceKeepsThem() {
    String source =
        """
        kernel void f(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
          out[i] = 0x1p-120f * (0x1p-20f * (i + 1));
        }
        """;
    assertThat(results(source, 1)).containsExactly(0);
    simulation.set(0, "subnormals", 1);
    assertThat(results(source, 1)).containsExactly(0x1p-140f);
  }

  @Test
  void fastMathIsOnUntilItIsSwitchedOff() {
    String source =
        HEAD
            + """
            kernel void f(device float* out [[buffer(0)]], device const float* in [[buffer(1)]]) {
              out[0] = isnan(in[0]) ? 1 : 0;
            }
            """;
    assertThat(firstOf(metal.compile(device, source, 0))).isZero();
    long options = metal.send(metal.type("MTLCompileOptions"), "new");
    assertThat(metal.ask(options, "fastMathEnabled")).isTrue();
    metal.send(options, "setMathMode:", Messages.SAFE);
    assertThat(metal.ask(options, "fastMathEnabled")).isFalse();
    assertThat(firstOf(metal.compile(device, source, options))).isEqualTo(1);
    metal.release(options);
    assertThat(simulation.violations()).isEmpty();
  }

  private float firstOf(Messages.Compiled compiled) {
    long pipeline = metal.pipeline(device, "f", compiled.library());
    long out = metal.buffer(device, 4, Messages.SHARED);
    long in = metal.buffer(device, 4, Messages.SHARED);
    metal.contents(in).set(JAVA_FLOAT, 0, Float.NaN);
    run(pipeline, 1, 1, out, in);
    float result = metal.contents(out).get(JAVA_FLOAT, 0);
    metal.release(out);
    metal.release(in);
    metal.release(pipeline);
    return result;
  }

  @Test
  void aLibraryNamesItsFunctions() {
    Messages.Compiled compiled =
        metal.compile(device, "kernel void one() {}\nkernel void two() {}\nvoid three() {}");
    metal.pooled(
        () -> {
          long names = metal.send(compiled.library(), "functionNames");
          assertThat(metal.send(names, "count")).isEqualTo(2);
          assertThat(metal.text(metal.send(names, "objectAtIndex:", 1L))).isEqualTo("two");
        });
    long absent = metal.string("three");
    assertThat(metal.send(compiled.library(), "newFunctionWithName:", absent)).isZero();
    metal.release(absent);
    metal.release(compiled.library());
  }
}
