package dev.tidepool.testkit.metal;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Objects, references and messages of the simulated Objective-C runtime. */
class SimulatedObjectsTest {
  private final SimulatedMetal simulation = SimulatedMetal.orSkip();
  private Messages metal;

  @BeforeEach
  void start() {
    metal = Messages.with(simulation, 2);
  }

  private void assertViolation(String... parts) {
    assertThat(simulation.violations())
        .singleElement()
        .satisfies(line -> assertThat(line).contains(parts));
    simulation.forget();
  }

  @Test
  void devicesAreOwnedByWhoeverGotThem() {
    long device = metal.call("MTLCreateSystemDefaultDevice");
    assertThat(metal.send(device, "retainCount")).isEqualTo(1);
    assertThat(simulation.leaks()).containsExactly("device 0, retained 1 time");
    long all = metal.call("MTLCopyAllDevices");
    assertThat(metal.send(all, "count")).isEqualTo(2);
    assertThat(metal.send(all, "objectAtIndex:", 0L)).isEqualTo(device);
    metal.release(all);
    metal.release(device);
    assertThat(simulation.leaks()).isEmpty();
    assertThat(simulation.violations()).isEmpty();
    metal.release(device);
    assertViolation("release", "device 0");
  }

  @Test
  void aDeviceSaysWhatItIs() {
    simulation.set(1, "unified", 0);
    simulation.set(1, "removable", 1);
    simulation.set(1, "memory", 1 << 20);
    long first = metal.device(0);
    long second = metal.device(1);
    assertThat(metal.text(metal.send(first, "name"))).isEqualTo("Simulated Apple GPU 0");
    assertThat(metal.send(first, "registryID")).isNotEqualTo(metal.send(second, "registryID"));
    assertThat(metal.ask(first, "hasUnifiedMemory")).isTrue();
    assertThat(metal.ask(second, "hasUnifiedMemory")).isFalse();
    assertThat(metal.ask(first, "isRemovable")).isFalse();
    assertThat(metal.ask(second, "isRemovable")).isTrue();
    assertThat(metal.send(second, "maxBufferLength")).isEqualTo(1 << 19);
    simulation.set(1, "max_buffer", 4096);
    assertThat(metal.send(second, "maxBufferLength")).isEqualTo(4096);
    simulation.set(1, "group_memory", 1024);
    assertThat(metal.send(first, "maxThreadgroupMemoryLength")).isEqualTo(32 << 10);
    assertThat(metal.send(second, "maxThreadgroupMemoryLength")).isEqualTo(1024);
    simulation.set(1, "low_power", 1);
    assertThat(metal.ask(first, "isLowPower")).isFalse();
    assertThat(metal.ask(second, "isLowPower")).isTrue();
    assertThat(metal.send(second, "recommendedMaxWorkingSetSize")).isEqualTo(3 << 18);
    simulation.set(1, "working_set", 12345);
    assertThat(metal.send(second, "recommendedMaxWorkingSetSize")).isEqualTo(12345);
    assertThat(metal.ask(first, "supportsFamily:", 1007L)).isTrue();
    assertThat(metal.ask(first, "supportsFamily:", 1008L)).isFalse();
    simulation.set(0, "family", 1009);
    assertThat(metal.ask(first, "supportsFamily:", 1008L)).isTrue();
    assertThat(metal.ask(second, "supportsFamily:", 1001L)).isFalse();
    assertThat(metal.ask(second, "supportsFamily:", 2002L)).isTrue();
    assertThat(metal.sendForStructure(Messages.SIZE, first, "maxThreadsPerThreadgroup"))
        .containsExactly(1024L, 1024L, 1024L);
    assertThat(
            metal.sendForStructure(
                Messages.RANGE, first, "heapBufferSizeAndAlignWithLength:options:", 1000L, 0L))
        .containsExactly(1024L, 256L);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void withoutASessionOnTheScreenThereIsNoDevice() {
    simulation.setAll("headless", 1);
    assertThat(metal.call("MTLCreateSystemDefaultDevice")).isZero();
    long all = metal.call("MTLCopyAllDevices");
    assertThat(metal.send(all, "count")).isZero();
  }

  @Test
  void theVersionOfTheSystemIsTold() {
    simulation.setAll("os_major", 14);
    simulation.setAll("os_minor", 3);
    long process = metal.send(metal.type("NSProcessInfo"), "processInfo");
    assertThat(metal.sendForStructure(Messages.SIZE, process, "operatingSystemVersion"))
        .containsExactly(14L, 3L, 0L);
    assertThat(metal.ask(process, "isOperatingSystemAtLeastVersion:", Messages.size(14, 0, 0)))
        .isTrue();
    assertThat(metal.ask(process, "isOperatingSystemAtLeastVersion:", Messages.size(14, 4, 0)))
        .isFalse();
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void aMethodOfALaterSystemIsUnknown() {
    long options = metal.send(metal.type("MTLCompileOptions"), "new");
    long selector = metal.selector("setMathMode:");
    assertThat(metal.ask(options, "respondsToSelector:", selector)).isTrue();
    simulation.setAll("os_major", 14);
    assertThat(metal.ask(options, "respondsToSelector:", selector)).isFalse();
    metal.send(options, "setMathMode:", 0L);
    assertViolation("-[MTLCompileOptions setMathMode:]: unrecognized selector");
  }

  @Test
  void anUnknownSelectorIsAViolation() {
    long device = metal.device(0);
    assertThat(metal.send(device, "newTextureWithDescriptor:", 0L)).isZero();
    assertViolation("-[MTLDevice newTextureWithDescriptor:]: unrecognized selector");
    metal.send(metal.type("MTLDevice"), "name");
    assertViolation("+[MTLDevice name]: unrecognized selector");
    metal.call("objc_msgSend", device, 12345L);
    assertViolation("selector", "sel_registerName");
  }

  @Test
  void aMessageToNilAnswersZero() {
    assertThat(metal.send(0, "count")).isZero();
    assertThat(metal.sendForDouble(0, "GPUStartTime")).isZero();
    assertThat(metal.sendForStructure(Messages.SIZE, 0, "maxThreadsPerThreadgroup"))
        .containsExactly(0L, 0L, 0L);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void aStructureInMemoryNeedsTheOtherFunctionOnX86() {
    if (!System.getProperty("os.arch").matches("amd64|x86_64")) {
      return;
    }
    long device = metal.device(0);
    metal.send(device, "maxThreadsPerThreadgroup");
    assertViolation("send it by objc_msgSend_stret");
    try (Arena arena = Arena.ofConfined()) {
      metal.call(
          "objc_msgSend_stret", arena.allocate(24), device, metal.selector("maxBufferLength"));
    }
    assertViolation("objc_msgSend_stret of maxBufferLength");
  }

  @Test
  void whatIsReleasedIsGone() {
    long buffer = metal.buffer(metal.device(0), 64, Messages.SHARED);
    metal.send(buffer, "retain");
    metal.release(buffer);
    assertThat(metal.send(buffer, "length")).isEqualTo(64);
    metal.release(buffer);
    assertThat(simulation.violations()).isEmpty();
    assertThat(metal.send(buffer, "length")).isZero();
    assertViolation("length", "released: MTLBuffer of 64 bytes");
    metal.release(buffer);
    assertViolation("release", "released: MTLBuffer of 64 bytes");
    metal.run("objc_release", buffer);
    assertViolation("objc_release", "released: MTLBuffer");
    metal.send(1234L << 32, "length");
    assertViolation("is no object");
  }

  @Test
  void aReleasedObjectAmongTheArgumentsIsAViolation() {
    long device = metal.device(0);
    long text = metal.string("kernel void f() {}");
    metal.release(text);
    assertThat(
            metal.send(device, "newLibraryWithSource:options:error:", text, 0L, MemorySegment.NULL))
        .isZero();
    assertThat(simulation.violations()).first().asString().contains("released: NSString");
    simulation.forget();
    metal.send(device, "newLibraryWithSource:options:error:", device, 0L, MemorySegment.NULL);
    assertThat(simulation.violations()).first().asString().contains("an argument is device 0");
  }

  @Test
  void poolsReleaseWhatWasAutoreleased() {
    long outer = metal.call("objc_autoreleasePoolPush");
    long text;
    long inner = metal.call("objc_autoreleasePoolPush");
    try (Arena arena = Arena.ofConfined()) {
      text =
          metal.send(metal.type("NSString"), "stringWithUTF8String:", arena.allocateFrom("größer"));
    }
    assertThat(metal.text(text)).isEqualTo("größer");
    assertThat(metal.send(text, "length")).isEqualTo(6);
    assertThat(metal.send(text, "lengthOfBytesUsingEncoding:", 4L)).isEqualTo(8);
    metal.run("objc_autoreleasePoolPop", inner);
    assertThat(simulation.violations()).isEmpty();
    metal.send(text, "length");
    assertViolation("released: NSString");
    metal.run("objc_autoreleasePoolPop", inner);
    assertViolation("no pool of this thread");
    long kept = metal.send(metal.string("kept"), "autorelease");
    metal.send(kept, "retain");
    metal.call("objc_autoreleasePoolPush"); // popped with the one below it
    metal.run("objc_autoreleasePoolPop", outer);
    assertThat(simulation.leaks()).containsExactly("NSString \"kept\", retained 1 time");
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void autoreleasedWithoutAPoolIsAViolationAndALeak() {
    try (Arena arena = Arena.ofConfined()) {
      metal.send(metal.type("NSString"), "stringWithUTF8String:", arena.allocateFrom("lost"));
    }
    assertViolation("stringWithUTF8String:", "without a pool");
    assertThat(simulation.leaks()).containsExactly("NSString \"lost\", retained 1 time");
  }

  @Test
  void programsDoNotMakeObjectsOfMetalThemselves() {
    assertThat(metal.send(metal.type("MTLDevice"), "alloc")).isZero();
    assertViolation("+[MTLDevice alloc]");
    assertThat(metal.type("NSNoSuchClass")).isZero();
  }

  @Test
  void onlyTheLowByteOfABooleanCounts() {
    long device = metal.device(0);
    assertThat(metal.send(device, "isLowPower")).isNotZero();
    assertThat(metal.send(device, "isLowPower") & 0xFF).isZero();
    assertThat(metal.ask(device, "isLowPower")).isFalse();
  }

  @Test
  void anyMessageThatAnswersAnObjectCanFail() {
    long device = metal.device(0);
    simulation.fail("newBufferWithLength:options:", 2, 1);
    long first = metal.buffer(device, 64, Messages.SHARED);
    assertThat(first).isNotZero();
    assertThat(metal.buffer(device, 64, Messages.SHARED)).isZero();
    assertThat(metal.buffer(device, 64, Messages.SHARED)).isNotZero();
    simulation.fail("message", 2, 1);
    assertThat(metal.send(device, "newSharedEvent")).isNotZero();
    assertThat(metal.send(device, "newSharedEvent")).isZero();
    simulation.fail("MTLCreateSystemDefaultDevice", 1, 1, -1);
    assertThat(metal.call("MTLCreateSystemDefaultDevice")).isZero();
    assertThat(metal.call("MTLCreateSystemDefaultDevice")).isZero();
    assertThat(simulation.calls("newBufferWithLength:options:")).isEqualTo(3);
    assertThat(simulation.calls()).containsEntry("newSharedEvent", 2L);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void aFailureIsStoredAsAnErrorWhereThereIsAPlaceForIt() {
    long device = metal.device(0);
    simulation.fail("newLibraryWithSource:options:error:", 1, 2);
    metal.pooled(
        () -> {
          try (Arena arena = Arena.ofConfined()) {
            MemorySegment error = arena.allocate(ValueLayout.JAVA_LONG);
            long text = metal.string("");
            assertThat(metal.send(device, "newLibraryWithSource:options:error:", text, 0L, error))
                .isZero();
            long stored = error.get(ValueLayout.JAVA_LONG, 0);
            assertThat(metal.send(stored, "code")).isEqualTo(2);
            assertThat(metal.text(metal.send(stored, "domain"))).isEqualTo("MTLLibraryErrorDomain");
            metal.release(text);
          }
        });
    assertThat(simulation.leaks()).containsExactly("device 0, retained 1 time");
  }

  @Test
  void everyMethodOfTheTableIsAnsweredByItsClass() {
    List<MethodTable.Row> rows = SimulatedMetal.table().methods();
    assertThat(rows)
        .allSatisfy(
            row -> {
              long type = metal.type(row.owningClass());
              assertThat(type).as(row.owner()).isNotZero();
              if (!row.ofClass()) {
                long answer =
                    metal.call("class_respondsToSelector", type, metal.selector(row.name()));
                assertThat(answer & 0xFF).as(row.toString()).isEqualTo(1);
              }
            });
  }
}
