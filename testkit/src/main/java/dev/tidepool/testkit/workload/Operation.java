package dev.tidepool.testkit.workload;

import dev.tidepool.testkit.fault.Failure;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * One random operation.
 *
 * @param number its place in the list that it was made in
 * @param kind what it does
 * @param slot which buffer it works on
 * @param other which other buffer it reads
 * @param seed what its details follow from
 * @param faultAfter the call of a driver that fails, counted from 1 when the operation begins; 0
 *     for none
 * @param failure how that call fails
 */
public record Operation(
    int number, Kind kind, int slot, int other, long seed, int faultAfter, Failure failure) {

  /** What an operation does. */
  public enum Kind {
    /** Copies an array into all of a buffer. */
    WRITE_ALL(6),
    /** Copies a part of an array into a part. */
    WRITE_PART(10),
    /** A {@link #WRITE_PART} in the background. */
    WRITE_LATER(10),
    /** Copies all of a buffer to an array. */
    READ_ALL(6),
    /** Copies a part. */
    READ_PART(8),
    /** A {@link #READ_PART} in the background. */
    READ_LATER(8),
    /** Copies a segment, native or of the heap, into a part. */
    WRITE_SEGMENT(5),
    /** Copies a part to a segment. */
    READ_SEGMENT(5),
    /** Writes bytes through a view as bytes, at any byte. */
    WRITE_BYTES(4),
    /** Reads through the read-only host view. */
    VIEW_READ(5),
    /** Writes through the host view of a slice. */
    VIEW_WRITE(5),
    /** Maps a slice in one of the three modes. */
    MAP(6),
    /** Copies a slice of one buffer to a slice of another, or of the same. */
    COPY(8),
    /** A {@link #COPY} in the background. */
    COPY_LATER(8),
    /** A kernel that writes all of a slice. */
    KERNEL_OUT(4),
    /** A kernel that reads and writes a slice. */
    KERNEL_IN_PLACE(5),
    /** A kernel that combines slices of two buffers. */
    KERNEL_OF_TWO(8),
    /** A kernel in the background. */
    KERNEL_LATER(8),
    /** A kernel whose input is an array. */
    KERNEL_OF_ARRAY(3),
    /** Kernels in the background that pass something through a buffer which is closed at once. */
    KERNELS_THROUGH_ANOTHER(6),
    /** A list of transfers to and from parts of a buffer, with options of all kinds. */
    TRANSFERS(3),
    /** A {@link #TRANSFERS} in the background. */
    TRANSFERS_LATER(4),
    /** A broadcast, scatter or gather from one buffer to another. */
    DISTRIBUTE(3),
    /** Sets the bytes of a slice. */
    FILL(4),
    /** Pushes the dirty side to the other one. */
    SYNCHRONIZE(3),
    /** Reads a slice through a pointer that native code has. */
    LEND_READ(3),
    /** Writes a slice through such a pointer. */
    LEND_WRITE(3),
    /** Lends a slice to native code for the device, which may set it by a command of its own. */
    LEND_DEVICE(5),
    /** Brings the bytes to the device. */
    PREFETCH_TO_DEVICE(4),
    /** Brings the bytes to the host. */
    PREFETCH_TO_HOST(4),
    /** Closes the buffer, whatever still runs, and allocates another. */
    REPLACE(5),
    /** Gives idle memory back to the driver. */
    TRIM(1),
    /** Moves all buffers of one manager off its device. */
    SUSPEND(1),
    /** Brings them back. */
    RESUME(1),
    /** Reserves memory for later buffers of the first manager, or closes what is reserved. */
    RESERVE(1);

    private final int weight;

    Kind(int weight) {
      this.weight = weight;
    }

    /** Returns whether it computes. */
    public boolean isKernel() {
      return name().startsWith("KERNEL");
    }
  }

  private static final List<Failure> FAILURES =
      List.of(Failure.REFUSED, Failure.BROKEN, Failure.TRANSIENT);
  private static final List<Kind> DRAWN = drawn();

  private static List<Kind> drawn() {
    List<Kind> kinds = new ArrayList<>();
    for (Kind kind : Kind.values()) {
      for (int i = 0; i < kind.weight; i++) {
        kinds.add(kind);
      }
    }
    return List.copyOf(kinds);
  }

  /**
   * Operations that a seed determines.
   *
   * @param faultsPerThousand how many of a thousand operations meet a failing driver call
   */
  public static List<Operation> list(long seed, int count, int slots, int faultsPerThousand) {
    SplittableRandom random = new SplittableRandom(seed);
    List<Operation> operations = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      boolean faulty = random.nextInt(1000) < faultsPerThousand;
      operations.add(
          new Operation(
              i,
              DRAWN.get(random.nextInt(DRAWN.size())),
              random.nextInt(slots),
              random.nextInt(slots),
              random.nextLong(),
              faulty ? 1 + random.nextInt(5) : 0,
              FAILURES.get(random.nextInt(FAILURES.size()))));
    }
    return operations;
  }
}
