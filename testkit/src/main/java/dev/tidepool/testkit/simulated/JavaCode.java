package dev.tidepool.testkit.simulated;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.WorkItem;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** A Java body, run on the queue's thread item by item, one group after another. */
record JavaCode(KernelSource.Java source) implements SimulatedProgram.Code {
  @Override
  public long bytesNeeded(KernelParameter parameter, LaunchRange range) {
    return 0; // only the body knows
  }

  @Override
  public void run(List<Object> arguments, LaunchRange range) {
    long[] groups = new long[3];
    long[] inGroup = new long[3];
    for (int d = 0; d < 3; d++) {
      boolean has = d < range.global().size();
      inGroup[d] = has && !range.group().isEmpty() ? range.group().get(d) : 1;
      groups[d] = has ? range.global().get(d) / inGroup[d] : 1;
    }
    for (long z = 0; z < groups[2]; z++) {
      for (long y = 0; y < groups[1]; y++) {
        for (long x = 0; x < groups[0]; x++) {
          runGroup(arguments, range, new long[] {x, y, z}, groups, inGroup);
        }
      }
    }
  }

  private void runGroup(
      List<Object> arguments, LaunchRange range, long[] group, long[] groups, long[] size) {
    MemorySegment local =
        MemorySegment.ofArray(new byte[Math.toIntExact(range.localBytes())])
            .fill(SimulatedBlock.FRESH);
    for (long z = 0; z < size[2]; z++) {
      for (long y = 0; y < size[1]; y++) {
        for (long x = 0; x < size[0]; x++) {
          source.body().run(new Item(arguments, group, groups, size, new long[] {x, y, z}, local));
        }
      }
    }
  }

  @SuppressWarnings("ArrayRecordComponent") // lives for one call and is never compared
  private record Item(
      List<Object> arguments,
      long[] group,
      long[] groups,
      long[] size,
      long[] inGroup,
      MemorySegment local)
      implements WorkItem {
    @Override
    public long globalId(int dimension) {
      return group[dimension] * size[dimension] + inGroup[dimension];
    }

    @Override
    public long localId(int dimension) {
      return inGroup[dimension];
    }

    @Override
    public long groupId(int dimension) {
      return group[dimension];
    }

    @Override
    public long globalSize(int dimension) {
      return groups[dimension] * size[dimension];
    }

    @Override
    public long groupSize(int dimension) {
      return size[dimension];
    }

    @Override
    public MemorySegment array(int index) {
      return (MemorySegment) arguments.get(index);
    }

    @Override
    public double scalar(int index) {
      return arguments.get(index) instanceof Boolean truth
          ? (truth ? 1 : 0)
          : ((Number) arguments.get(index)).doubleValue();
    }

    @Override
    public long integer(int index) {
      return arguments.get(index) instanceof Boolean truth
          ? (truth ? 1 : 0)
          : ((Number) arguments.get(index)).longValue();
    }

    @Override
    public MemorySegment localMemory() {
      return local;
    }
  }
}
