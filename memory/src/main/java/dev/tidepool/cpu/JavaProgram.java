package dev.tidepool.cpu;

import dev.tidepool.JavaKernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.WorkItem;
import dev.tidepool.methods.jvm.GroupGrid;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Runs a Java body for each item. A thread takes whole groups and runs the items of a group in
 * order, the first dimension fastest.
 */
record JavaProgram(JavaKernel body, List<KernelParameter> parameters) implements CpuProgram {
  @Override
  public void run(Launch launch) {
    GroupGrid grid = new GroupGrid(launch.range());
    MemorySegment[] arrays = new MemorySegment[parameters.size()];
    Object[] scalars = new Object[parameters.size()];
    for (int i = 0; i < arrays.length; i++) {
      switch (launch.arguments().get(i)) {
        case KernelArgument.Array array -> arrays[i] = CpuProgram.segment(array);
        case KernelArgument.Scalar(Object value) -> scalars[i] = value;
      }
    }
    CpuThreads.spread(
        grid.groups(),
        CpuProgram.grain(grid.groups(), grid.groupItems()),
        (from, to) -> {
          try (Arena arena = Arena.ofConfined()) {
            MemorySegment local = arena.allocate(launch.range().localBytes(), 64);
            Cursor cursor = new Cursor(grid, arrays, scalars, local);
            for (long group = from; group < to; group++) {
              cursor.runGroup(group, body);
            }
          }
        });
  }

  /** The current item of one thread. */
  private static final class Cursor implements WorkItem {
    private final GroupGrid grid;
    private final MemorySegment[] arrays;
    private final Object[] scalars;
    private final MemorySegment local;
    private final long[] groupId = new long[3];
    private final long[] localId = new long[3];

    Cursor(GroupGrid grid, MemorySegment[] arrays, Object[] scalars, MemorySegment local) {
      this.grid = grid;
      this.arrays = arrays;
      this.scalars = scalars;
      this.local = local;
    }

    void runGroup(long index, JavaKernel body) {
      for (int i = 0; i < groupId.length; i++) {
        groupId[i] = grid.groupId(index, i);
      }
      for (localId[2] = 0; localId[2] < grid.groupSize(2); localId[2]++) {
        for (localId[1] = 0; localId[1] < grid.groupSize(1); localId[1]++) {
          for (localId[0] = 0; localId[0] < grid.groupSize(0); localId[0]++) {
            body.run(this);
          }
        }
      }
    }

    @Override
    public long globalId(int dimension) {
      return groupId[dimension] * grid.groupSize(dimension) + localId[dimension];
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
      return grid.globalSize(dimension);
    }

    @Override
    public long groupSize(int dimension) {
      return grid.groupSize(dimension);
    }

    @Override
    public MemorySegment array(int index) {
      MemorySegment array = arrays[index];
      if (array == null) {
        throw new IllegalArgumentException(
            "parameter " + index + " is a scalar; ask for it by scalar or integer");
      }
      return array;
    }

    @Override
    public double scalar(int index) {
      return scalars[index] instanceof Number number ? number.doubleValue() : integer(index);
    }

    @Override
    public long integer(int index) {
      return switch (scalars[index]) {
        case Boolean truth -> truth ? 1 : 0;
        case Number number -> number.longValue();
        case null, default ->
            throw new IllegalArgumentException(
                "parameter " + index + " is an array; ask for it by array");
      };
    }

    @Override
    public MemorySegment localMemory() {
      return local;
    }
  }
}
