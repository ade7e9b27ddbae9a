package dev.tidepool.cpu;

import dev.tidepool.JavaKernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.LaunchRange;
import dev.tidepool.WorkItem;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A body in Java, run for each item. Threads take whole groups; the items of a group run in order,
 * the first dimension fastest.
 */
record JavaProgram(JavaKernel body, List<KernelParameter> parameters) implements CpuProgram {
  @Override
  public void run(Launch launch) {
    Shape shape = new Shape(launch.range());
    MemorySegment[] arrays = new MemorySegment[parameters.size()];
    Object[] scalars = new Object[parameters.size()];
    for (int i = 0; i < arrays.length; i++) {
      switch (launch.arguments().get(i)) {
        case KernelArgument.Array array -> arrays[i] = CpuProgram.segment(array);
        case KernelArgument.Scalar(Object value) -> scalars[i] = value;
      }
    }
    CpuThreads.spread(
        shape.groups(),
        CpuProgram.grain(shape.groups(), shape.groupItems()),
        (from, to) -> {
          try (Arena arena = Arena.ofConfined()) {
            MemorySegment local = arena.allocate(launch.range().localBytes(), 64);
            Cursor cursor = new Cursor(shape, arrays, scalars, local);
            for (long group = from; group < to; group++) {
              cursor.runGroup(group, body);
            }
          }
        });
  }

  /** The sizes of a range and its groups, padded to three dimensions. */
  private static final class Shape {
    private final long[] global = {1, 1, 1};
    private final long[] group = {1, 1, 1};

    Shape(LaunchRange range) {
      for (int i = 0; i < range.global().size(); i++) {
        global[i] = range.global().get(i);
        group[i] = range.group().isEmpty() ? 1 : range.group().get(i);
      }
    }

    long groupsIn(int dimension) {
      return global[dimension] / group[dimension];
    }

    long groups() {
      return groupsIn(0) * groupsIn(1) * groupsIn(2);
    }

    long groupItems() {
      return group[0] * group[1] * group[2];
    }
  }

  /** Where one thread stands. */
  private static final class Cursor implements WorkItem {
    private final Shape shape;
    private final MemorySegment[] arrays;
    private final Object[] scalars;
    private final MemorySegment local;
    private final long[] groupId = new long[3];
    private final long[] localId = new long[3];

    Cursor(Shape shape, MemorySegment[] arrays, Object[] scalars, MemorySegment local) {
      this.shape = shape;
      this.arrays = arrays;
      this.scalars = scalars;
      this.local = local;
    }

    void runGroup(long index, JavaKernel body) {
      groupId[0] = index % shape.groupsIn(0);
      groupId[1] = index / shape.groupsIn(0) % shape.groupsIn(1);
      groupId[2] = index / shape.groupsIn(0) / shape.groupsIn(1);
      for (localId[2] = 0; localId[2] < shape.group[2]; localId[2]++) {
        for (localId[1] = 0; localId[1] < shape.group[1]; localId[1]++) {
          for (localId[0] = 0; localId[0] < shape.group[0]; localId[0]++) {
            body.run(this);
          }
        }
      }
    }

    @Override
    public long globalId(int dimension) {
      return groupId[dimension] * shape.group[dimension] + localId[dimension];
    }

    @Override
    public long localId(int dimension) {
      return localId[dimension];
    }

    @Override
    public long groupId(int dimension) {
      return groupId[dimension];
    }

    @Override
    public long globalSize(int dimension) {
      return shape.global[dimension];
    }

    @Override
    public long groupSize(int dimension) {
      return shape.group[dimension];
    }

    @Override
    public MemorySegment array(int index) {
      return arrays[index];
    }

    @Override
    public double scalar(int index) {
      return scalars[index] instanceof Number number ? number.doubleValue() : integer(index);
    }

    @Override
    public long integer(int index) {
      return scalars[index] instanceof Boolean truth
          ? (truth ? 1 : 0)
          : ((Number) scalars[index]).longValue();
    }

    @Override
    public MemorySegment localMemory() {
      return local;
    }
  }
}
