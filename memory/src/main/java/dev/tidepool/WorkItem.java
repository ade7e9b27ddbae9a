package dev.tidepool;

import java.lang.foreign.MemorySegment;

/**
 * Where in its range a {@link JavaKernel} stands, and its arguments. Valid during the call only.
 */
public interface WorkItem {
  /** The item's index in a dimension (0 to 2) of the whole range. */
  long globalId(int dimension);

  /** The item's index in a dimension of its group. */
  long localId(int dimension);

  /** The group's index in a dimension. */
  long groupId(int dimension);

  /** The size of the whole range in a dimension; 1 beyond its dimensions. */
  long globalSize(int dimension);

  /** The size of a group in a dimension; 1 where no group size was asked for. */
  long groupSize(int dimension);

  /** The bytes of the array argument at {@code index} of the declared parameters. */
  MemorySegment array(int index);

  /** The scalar argument at {@code index} of the declared parameters, as a double. */
  double scalar(int index);

  /** The scalar argument at {@code index} of the declared parameters, as a long. */
  long integer(int index);

  /** Memory that the items of one group share, of the size that the launch asked for. */
  MemorySegment localMemory();
}
