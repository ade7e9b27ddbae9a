package dev.tidepool.testkit.workload;

import dev.tidepool.testkit.fault.Failure;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * One random operation.
 *
 * @param number its index in the list for which it was created
 * @param kind what it does
 * @param slot the index of its buffer
 * @param other the index of the other buffer that it reads
 * @param seed determines the details
 * @param faultAfter the driver call that fails, counted from 1 at the beginning of the operation; 0
 *     for none
 * @param failure how that call fails
 */
public record Operation(
    int number, Kind kind, int slot, int other, long seed, int faultAfter, Failure failure) {

  /** The kind of an operation. */
  public enum Kind {
    /** Copies an array into all of a buffer. */
    WRITE_ALL(6),
    /** Copies a part of an array to a part of a buffer. */
    WRITE_PART(10),
    /** An asynchronous {@link #WRITE_PART}. */
    WRITE_LATER(10),
    /** Copies all of a buffer to an array. */
    READ_ALL(6),
    /** Copies a part of a buffer to an array. */
    READ_PART(8),
    /** An asynchronous {@link #READ_PART}. */
    READ_LATER(8),
    /** Copies a native or heap segment to a part of a buffer. */
    WRITE_SEGMENT(5),
    /** Copies a part of a buffer to a segment. */
    READ_SEGMENT(5),
    /** Writes through a view as bytes, at any byte. */
    WRITE_BYTES(4),
    /** Reads through the read-only host view. */
    VIEW_READ(5),
    /** Writes through the host view of a slice. */
    VIEW_WRITE(5),
    /** Maps a slice in one of the three modes. */
    MAP(6),
    /** Copies a slice of one buffer to a slice of another, or of the same. */
    COPY(8),
    /** An asynchronous {@link #COPY}. */
    COPY_LATER(8),
    /** Runs a kernel that writes all of a slice. */
    KERNEL_OUT(4),
    /** Runs a kernel that reads and writes a slice. */
    KERNEL_IN_PLACE(5),
    /** Runs a kernel that combines slices of two buffers. */
    KERNEL_OF_TWO(8),
    /** Runs a kernel asynchronously. */
    KERNEL_LATER(8),
    /** Runs a kernel whose input is an array. */
    KERNEL_OF_ARRAY(3),
    /** Runs kernels asynchronously that use an intermediate buffer, which is closed at once. */
    KERNELS_THROUGH_ANOTHER(6),
    /** Transfers a list to and from parts of a buffer, with random options. */
    TRANSFERS(3),
    /** An asynchronous {@link #TRANSFERS}. */
    TRANSFERS_LATER(4),
    /** Broadcasts, scatters or gathers from one buffer to another. */
    DISTRIBUTE(3),
    /** Sets the bytes of a slice. */
    FILL(4),
    /** Copies the newer side to the other one. */
    SYNCHRONIZE(3),
    /** Reads a slice through a pointer of native code. */
    LEND_READ(3),
    /** Writes a slice through a pointer of native code. */
    LEND_WRITE(3),
    /** Lends a slice to native code on the device, which may set the slice by its own command. */
    LEND_DEVICE(5),
    /** Prefetches the bytes to the device. */
    PREFETCH_TO_DEVICE(4),
    /** Prefetches the bytes to the host. */
    PREFETCH_TO_HOST(4),
    /** Closes the buffer, even if operations still run, and allocates another one. */
    REPLACE(5),
    /** Returns idle memory to the driver. */
    TRIM(1),
    /** Moves all buffers of one manager off its device. */
    SUSPEND(1),
    /** Moves the buffers of a suspended manager back. */
    RESUME(1),
    /** Reserves memory for later buffers of the first manager, or closes the reservation. */
    RESERVE(1);

    private final int weight;

    Kind(int weight) {
      this.weight = weight;
    }

    /** Returns whether the operation runs a kernel. */
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
   * Returns the operations of a seed.
   *
   * @param faultsPerThousand how many of a thousand operations have a failing driver call
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
