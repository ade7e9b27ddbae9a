package dev.tidepool.benchmarks;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.StructOfArrays;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.host.MemoryOperations;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The tutorial's third exercise: particles as structs, and as a struct of arrays. Also measures the
 * conversions between the two, and a copy of the same bytes.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class LayoutBenchmark {
  /** Six floats without padding. */
  public record Particle(float x, float y, float z, float velX, float velY, float velZ) {}

  private static final long STRUCT = 24;

  @Param("1000000")
  public int particles;

  private UnifiedMemoryManager memory;
  private UnifiedBuffer<Particle[]> structs;
  private UnifiedBuffer<Particle[]> others;
  private StructOfArrays<Particle> columns;
  private Particle[] records;
  private Kernel move;

  @Setup
  public void allocate() {
    memory = UnifiedMemoryManager.create();
    ElementType<Particle[]> type = ElementType.struct(Particle.class);
    structs = memory.allocate(type, particles, MemoryLocation.HOST);
    others = memory.allocate(type, particles, MemoryLocation.HOST);
    columns = memory.allocateStructOfArrays(type, particles, Allocation.at(MemoryLocation.HOST));
    records = new Particle[particles];
    Arrays.setAll(records, i -> new Particle(i, -i, 0, 1, 2, 3));
    structs.copyFrom(records);
    others.copyFrom(records);
    columns.copyFrom(records);
    move =
        memory.compile(
            KernelSource.elementwise("x = x + vx * dt; y = y + vy * dt; z = z + vz * dt"));
  }

  @TearDown
  public void free() {
    columns.close();
    others.close();
    structs.close();
    memory.close();
  }

  /** Copies as many bytes as a conversion reads and writes. */
  @Benchmark
  public void copyStructs() {
    MemoryOperations.copy(structs.asReadOnlySegment(), others.asSegment());
  }

  @Benchmark
  public void structsToColumns() {
    columns.copyFrom(structs);
  }

  @Benchmark
  public void columnsToStructs() {
    columns.copyTo(structs);
  }

  /** Converts naively: one access for each component of each struct. */
  @Benchmark
  public void structsToColumnsOneByOne() {
    MemorySegment from = structs.asReadOnlySegment();
    for (String name : columns.names()) {
      MemorySegment to = columns.component(name, ElementType.FLOAT).asSegment();
      long offset = structs.elementType().layout().byteOffset(PathElement.groupElement(name));
      for (int i = 0; i < particles; i++) {
        to.setAtIndex(
            ValueLayout.JAVA_FLOAT, i, from.get(ValueLayout.JAVA_FLOAT, i * STRUCT + offset));
      }
    }
  }

  @Benchmark
  public void recordsToStructs() {
    structs.copyFrom(records);
  }

  @Benchmark
  public void recordsToColumns() {
    columns.copyFrom(records);
  }

  @Benchmark
  public void columnsToRecords() {
    columns.copyTo(records);
  }

  /** Runs a kernel over the columns. */
  @Benchmark
  public void moveColumns() {
    move.execute(
        Arguments.of(
            "dt",
            0.5f,
            "x",
            columns.component("x", ElementType.FLOAT),
            "y",
            columns.component("y", ElementType.FLOAT),
            "z",
            columns.component("z", ElementType.FLOAT),
            "vx",
            columns.component("velX", ElementType.FLOAT),
            "vy",
            columns.component("velY", ElementType.FLOAT),
            "vz",
            columns.component("velZ", ElementType.FLOAT)));
  }

  /** Like {@link #moveColumns}, but a plain loop over structs. */
  @Benchmark
  public void moveStructs() {
    MemorySegment all = structs.asSegment();
    for (int i = 0; i < particles; i++) {
      for (long component = 0; component < STRUCT / 2; component += Float.BYTES) {
        long at = i * STRUCT + component;
        float velocity = all.get(ValueLayout.JAVA_FLOAT, at + STRUCT / 2);
        all.set(ValueLayout.JAVA_FLOAT, at, all.get(ValueLayout.JAVA_FLOAT, at) + velocity * 0.5f);
      }
    }
  }
}
