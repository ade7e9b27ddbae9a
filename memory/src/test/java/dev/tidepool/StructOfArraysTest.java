package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class StructOfArraysTest {
  /** The tutorial's particles. */
  public record Particle(float x, float y, float z, float velX, float velY, float velZ) {}

  record WithArray(byte kind, int[] values) {}

  record Point(float x, short tag) {}

  /** Padded, nested, and with every primitive. */
  record Body(byte kind, Point at, double mass, boolean alive, int charge, long id, short age) {}

  private static final ElementType<Body[]> BODIES =
      ElementType.struct(Body.class, MethodHandles.lookup());

  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create();

  @AfterEach
  void close() {
    assertThat(memory.buffers()).isEmpty();
    memory.close();
  }

  private static Body body(int i) {
    return new Body(
        (byte) i, new Point(i * 0.5f, (short) (7 * i)), -i, i % 3 == 0, ~i, 1L << i, (short) -i);
  }

  private static Body[] bodies(int count) {
    Body[] bodies = new Body[count];
    Arrays.setAll(bodies, StructOfArraysTest::body);
    return bodies;
  }

  private StructOfArrays<Body> allocate(long length) {
    return memory.allocateStructOfArrays(BODIES, length, Allocation.at(MemoryLocation.HOST));
  }

  @Test
  void everyPrimitiveHasABufferOfItsOwn() {
    try (StructOfArrays<Body> columns = allocate(5)) {
      columns.copyFrom(bodies(5));
      assertThat(columns.names())
          .containsExactly("kind", "at.x", "at.tag", "mass", "alive", "charge", "id", "age");
      assertThat(columns.byteSize()).isEqualTo(5 * (1 + 4 + 2 + 8 + 1 + 4 + 8 + 2));
      assertThat(columns.length()).isEqualTo(5);
      assertThat(columns.structType()).isEqualTo(BODIES);
      assertThat(columns.accelerator()).isEqualTo(memory.accelerator());
      assertThat(contents(columns, "at.x", ElementType.FLOAT)).containsExactly(0, 0.5f, 1, 1.5f, 2);
      assertThat(contents(columns, "at.tag", ElementType.SHORT))
          .containsExactly((short) 0, (short) 7, (short) 14, (short) 21, (short) 28);
      assertThat(contents(columns, "alive", ElementType.BOOLEAN))
          .containsExactly(true, false, false, true, false);
      assertThat(contents(columns, "id", ElementType.LONG)).containsExactly(1, 2, 4, 8, 16);
    }
  }

  private static <A> A contents(StructOfArrays<?> columns, String name, ElementType<A> type) {
    UnifiedBuffer<A> buffer = columns.component(name, type);
    A array = type.newArray((int) buffer.length());
    buffer.copyTo(array);
    return array;
  }

  @Test
  void recordsComeBackAsTheyWere() {
    for (int count : new int[] {0, 1, 2, 1000, 20_011}) {
      try (StructOfArrays<Body> columns = allocate(count)) {
        columns.copyFrom(bodies(count));
        Body[] read = new Body[count];
        columns.copyTo(read);
        assertThat(read).isEqualTo(bodies(count));
      }
    }
  }

  @Test
  void structsGoIntoColumnsAndBack() {
    int count = 20_011;
    try (UnifiedBuffer<Body[]> structs = memory.allocate(BODIES, count);
        UnifiedBuffer<Body[]> again = memory.allocate(BODIES, count + 1);
        StructOfArrays<Body> columns = allocate(count + 2)) {
      structs.copyFrom(bodies(count));
      columns.copyFrom(bodies(count + 2));
      columns.copyFrom(structs.slice(1, count - 1));
      Body[] expected = bodies(count + 2);
      System.arraycopy(expected, 1, expected, 0, count - 1);
      Body[] read = new Body[count + 2];
      columns.copyTo(read);
      assertThat(read).isEqualTo(expected);

      assertThatThrownBy(() -> columns.copyTo(again))
          .isInstanceOf(IndexOutOfBoundsException.class)
          .hasMessageContaining("room for 20012 records")
          .hasMessageContaining("20013");
    }
    try (StructOfArrays<Body> columns = allocate(count);
        UnifiedBuffer<Body[]> longer = memory.allocate(BODIES, count + 1)) {
      columns.copyFrom(bodies(count));
      Body[] old = bodies(count + 1);
      longer.copyFrom(new Body[] {body(9)}, 0, count, 1);
      columns.copyTo(longer);
      Body[] read = new Body[count + 1];
      longer.copyTo(read);
      old[count] = body(9);
      assertThat(read).isEqualTo(old);
    }
  }

  @Test
  void rangesGoWhereTheyAreTold() {
    try (StructOfArrays<Body> columns = allocate(100)) {
      Body[] expected = bodies(100);
      columns.copyFrom(expected);
      columns.copyFrom(bodies(50), 20, 70, 30);
      System.arraycopy(bodies(50), 20, expected, 70, 30);
      Body[] read = new Body[10];
      columns.copyTo(66, read, 2, 8);
      assertThat(Arrays.copyOfRange(read, 2, 10)).isEqualTo(Arrays.copyOfRange(expected, 66, 74));
      assertThat(read).startsWith(null, null);
      for (int[] wrong :
          new int[][] {{0, 71, 30}, {21, 0, 30}, {-1, 0, 1}, {0, -1, 1}, {0, 0, -1}}) {
        assertThatThrownBy(() -> columns.copyFrom(bodies(50), wrong[0], wrong[1], wrong[2]))
            .as(Arrays.toString(wrong))
            .isInstanceOf(IndexOutOfBoundsException.class);
      }
      assertThatThrownBy(() -> columns.copyFrom(bodies(101)))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> columns.copyTo(new Body[99]))
          .isInstanceOf(IndexOutOfBoundsException.class)
          .hasMessageContaining("99");
      Body[] all = new Body[100];
      columns.copyTo(all);
      assertThat(all).isEqualTo(expected);
    }
  }

  @Test
  void kernelsTakeComponentsAsArguments() {
    int count = 10_000;
    Particle[] particles = new Particle[count];
    Arrays.setAll(particles, i -> new Particle(i, -i, 0, 1, 2, i));
    try (StructOfArrays<Particle> p = memory.allocateStructOfArrays(Particle.class, count)) {
      p.copyFrom(particles);
      Kernel move = memory.compile(KernelSource.elementwise("place = place + speed * dt"));
      for (String axis : List.of("X", "Y", "Z")) {
        UnifiedBuffer<float[]> place =
            p.component(axis.toLowerCase(Locale.ROOT), ElementType.FLOAT);
        UnifiedBuffer<float[]> speed = p.component("vel" + axis, ElementType.FLOAT);
        move.execute(Arguments.of("dt", 0.5f, "place", place, "speed", speed));
      }
      Particle[] moved = new Particle[count];
      p.copyTo(moved);
      for (int i = 0; i < count; i++) {
        assertThat(moved[i]).isEqualTo(new Particle(i + 0.5f, -i + 1f, i * 0.5f, 1, 2, i));
      }
    }
  }

  @Test
  void conversionsInTheBackgroundKeepTheOrderOfTheBuffers() {
    int count = 3000;
    try (StructOfArrays<Body> columns = allocate(count);
        UnifiedBuffer<Body[]> structs = memory.allocate(BODIES, count)) {
      Body[] first = bodies(count);
      Body[] second = new Body[count];
      Arrays.setAll(second, i -> body(i + 5));
      Body[] readFirst = new Body[count];
      Body[] readSecond = new Body[count];
      List<CompletableFuture<Void>> all =
          List.of(
              columns.copyFromAsync(first),
              columns.copyToAsync(structs),
              columns.copyFromAsync(second),
              columns.copyToAsync(readSecond),
              columns.copyFromAsync(structs),
              columns.copyToAsync(readFirst));
      all.forEach(CompletableFuture::join);
      assertThat(readFirst).isEqualTo(first);
      assertThat(readSecond).isEqualTo(second);
    }
  }

  @Test
  void aVirtualThreadConvertsToo() throws InterruptedException {
    try (StructOfArrays<Body> columns = allocate(1000)) {
      Body[] read = new Body[1000];
      Thread thread =
          Thread.startVirtualThread(
              () -> {
                columns.copyFrom(bodies(1000));
                columns.copyTo(read);
              });
      thread.join();
      assertThat(read).isEqualTo(bodies(1000));
    }
  }

  @Test
  void aNullRecordFailsTheConversionAndLaterOnesWork() {
    try (StructOfArrays<Body> columns = allocate(10)) {
      Body[] withHole = bodies(10);
      withHole[3] = null;
      assertThatNullPointerException()
          .isThrownBy(() -> columns.copyFrom(withHole))
          .withMessageStartingWith("element 3 of the array of records is null");
      columns.copyFrom(bodies(10));
      Body[] read = new Body[10];
      columns.copyTo(read);
      assertThat(read).isEqualTo(bodies(10));
    }
  }

  @Test
  void unsignedKernelsSeeAComponentAsTheyAsk() {
    try (StructOfArrays<Body> columns = allocate(2)) {
      columns.copyFrom(new Body[] {body(200), body(1)});
      assertThat(columns.component("kind", ElementType.UNSIGNED_BYTE).elementType())
          .isEqualTo(ElementType.UNSIGNED_BYTE);
      assertThat(contents(columns, "kind", ElementType.UNSIGNED_BYTE))
          .containsExactly((byte) 200, (byte) 1);
    }
  }

  @Test
  void whatIsNotThereIsNamed() {
    try (StructOfArrays<Body> columns = allocate(1)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> columns.component("speed", ElementType.FLOAT))
          .withMessageContaining("no component 'speed'")
          .withMessageContaining("kind, at.x, at.tag, mass");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> columns.component("mass", ElementType.FLOAT))
          .withMessageContaining("mass of struct Body holds DOUBLE, not FLOAT");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> memory.allocateStructOfArrays(Particle.class, -1));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> memory.allocateStructOfArrays(WithArray.class, 1))
        .withMessageContaining("component values");
  }

  @Test
  void structsInAViewOfAComponentAreRefused() {
    record Small(long a, long b) {}
    ElementType<Small[]> type = ElementType.struct(Small.class, MethodHandles.lookup());
    try (StructOfArrays<Small> columns =
        memory.allocateStructOfArrays(type, 8, Allocation.at(MemoryLocation.HOST))) {
      UnifiedBuffer<Small[]> view = columns.component("a", ElementType.LONG).as(type);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> columns.copyFrom(view))
          .withMessageContaining("give the structs a buffer of their own");
    }
  }

  @Test
  void closingEndsAllComponentsOnce() {
    StructOfArrays<Body> columns = allocate(4);
    UnifiedBuffer<double[]> mass = columns.component("mass", ElementType.DOUBLE);
    assertThat(memory.buffers()).hasSize(8);
    columns.close();
    columns.close();
    assertThatIllegalStateException().isThrownBy(mass::length);
    assertThatIllegalStateException()
        .isThrownBy(columns::length)
        .withMessageContaining("struct of arrays (struct Body[4]) is closed");
    assertThatIllegalStateException().isThrownBy(() -> columns.copyTo(new Body[4]));
  }

  @Test
  void anAllocationThatFailsHalfwayLeavesNothing() {
    MemoryOptions options = MemoryOptions.builder().memoryLimit(3 << 20).build();
    try (UnifiedMemoryManager small = UnifiedMemoryManager.create(options)) {
      // The first six columns fit.
      assertThatThrownBy(
              () ->
                  small.allocateStructOfArrays(BODIES, 120_000, Allocation.at(MemoryLocation.HOST)))
          .isInstanceOf(OutOfDeviceMemoryException.class);
      assertThat(small.buffers()).isEmpty();
      assertThat(small.statistics().totalAllocated()).isZero();
      assertThat(small.statistics().totalAllocations()).isPositive();
    }
  }
}
