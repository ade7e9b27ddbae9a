package dev.tidepool.transfer;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorException;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Direct copies between the accelerators of a {@link Tidepool}, without passing through the host.
 *
 * <p>A way connects a source accelerator to a destination accelerator; the reverse direction is
 * another way. A way is opened by the first copy that uses it, or by {@link #enable}. If it is
 * disabled or does not exist, copies pass through a block of the host. {@link
 * MemoryOptions#peerAccess()} can disable all ways initially.
 *
 * {@snippet :
 * tidepool.peers().enable(first.accelerator(), last.accelerator());
 * long[] lengths = PeerAccess.split(whole.length(), 1, 1);
 * try (UnifiedBuffer<float[]> front = first.allocate(ElementType.FLOAT, lengths[0]);
 *     UnifiedBuffer<float[]> back = last.allocate(ElementType.FLOAT, lengths[1])) {
 *   tidepool.peers().scatter(whole, List.of(front, back));
 * }
 * }
 *
 * <p>Further methods distribute one buffer over several accelerators, and collect it again. Each
 * part is copied by the fastest way from where its bytes are. Parts in different buffers are copied
 * concurrently, each in the order of operations of its buffers. A failed part does not affect the
 * others. One call accepts at most 1001 buffers, where slices of one buffer count once; more throw
 * {@link IllegalArgumentException}.
 *
 * <p>Thread-safe. Every method throws {@link IllegalStateException} once the Tidepool is closed,
 * and {@link IllegalArgumentException} if an accelerator belongs to another Tidepool, or if both
 * are the same.
 */
public interface PeerAccess {
  /** Whether copies use a way. */
  enum State {
    /** The way does not exist: one of the two cannot access the other's memory. */
    UNREACHABLE,
    /** The first copy will open the way. */
    ON_FIRST_USE,
    /** The way is open. */
    ENABLED,
    /** The driver refused to open the way for the first copy; {@link #enable} tries again. */
    REFUSED,
    /** The way was disabled by {@link #disable} or by the option. */
    DISABLED
  }

  /**
   * A way, and the copies that used it so far.
   *
   * @param from the source accelerator
   * @param to the destination accelerator
   * @param state whether copies use the way
   * @param copies the copies that the driver made from device memory to device memory. In the state
   *     UNREACHABLE, the driver may route them through other memory
   * @param bytes the bytes of these copies
   * @param time the sum of the times of these copies
   * @param stagedCopies copies from device memory to device memory that passed through the host
   * @param stagedBytes the bytes of these staged copies
   */
  record Way(
      Accelerator from,
      Accelerator to,
      State state,
      long copies,
      long bytes,
      Duration time,
      long stagedCopies,
      long stagedBytes) {
    /** Returns whether the way exists and can be enabled. */
    public boolean canReach() {
      return state != State.UNREACHABLE;
    }

    /** Returns whether the way is open now. */
    public boolean isEnabled() {
      return state == State.ENABLED;
    }

    /** Returns the bytes per second of the copies that the driver made; 0 before the first. */
    public double bandwidth() {
      double seconds = time.toNanos() / 1e9;
      return seconds == 0 ? 0 : bytes / seconds;
    }
  }

  /**
   * Returns all ways: from the first accelerator to each other one, then from the second, in the
   * order of {@link Tidepool#accelerators()}.
   */
  List<Way> matrix();

  /** Returns the way from one accelerator to another. */
  Way way(Accelerator from, Accelerator to);

  /**
   * Opens a way. Does nothing if it is already open.
   *
   * @throws UnsupportedOperationException if the way does not exist
   * @throws AcceleratorException if the driver refuses; the way's state does not change
   */
  void enable(Accelerator from, Accelerator to);

  /**
   * Disables a way for further copies, and closes it when the copies that use it have ended. Does
   * nothing if the way does not exist.
   *
   * @throws AcceleratorException if the driver refuses to close the way; copies do not use it even
   *     then
   */
  void disable(Accelerator from, Accelerator to);

  /**
   * Copies consecutive pieces of a buffer to the parts, each of which is filled. {@link #split}
   * computes their lengths.
   *
   * @throws IndexOutOfBoundsException if the parts together are not as long as the source
   * @throws IllegalArgumentException if element types differ, or parts share bytes with each other
   *     or the source; nothing was copied then
   * @throws TransferException if parts failed; the message names them, and all others are complete
   */
  <A> void scatter(UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> parts);

  /** Like {@link #scatter}, in the background. */
  <A> CompletableFuture<Void> scatterAsync(
      UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> parts);

  /**
   * Copies the parts, as consecutive pieces, to the front of a buffer. This is one write of the
   * buffer.
   *
   * @throws IndexOutOfBoundsException if the destination is shorter than the parts together
   * @throws IllegalArgumentException if element types differ, or a part shares bytes with the
   *     destination; nothing was copied then
   * @throws TransferException if parts failed; the message names them, and all others are complete
   */
  <A> void gather(List<? extends UnifiedBuffer<A>> parts, UnifiedBuffer<A> destination);

  /** Like {@link #gather}, in the background. */
  <A> CompletableFuture<Void> gatherAsync(
      List<? extends UnifiedBuffer<A>> parts, UnifiedBuffer<A> destination);

  /**
   * Copies all of a buffer to the front of each destination. A completed destination becomes a
   * source for others, so the copies form a tree.
   *
   * @throws IndexOutOfBoundsException if a destination is shorter than the source
   * @throws IllegalArgumentException if element types differ, or destinations share bytes with each
   *     other or the source; nothing was copied then
   * @throws TransferException if destinations failed; the message names them, and all others are
   *     complete
   */
  <A> void broadcast(UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> destinations);

  /** Like {@link #broadcast}, in the background. */
  <A> CompletableFuture<Void> broadcastAsync(
      UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> destinations);

  /**
   * Splits a length in proportion to weights, such as the speeds of accelerators. Each part differs
   * from its exact share by at most one element, and the sum of the parts is the length.
   *
   * @throws IllegalArgumentException if the length or a weight is negative, a weight is infinite or
   *     not a number, or none is above zero
   */
  static long[] split(long length, double... weights) {
    double sum = 0;
    for (double weight : weights) {
      if (!(weight >= 0 && weight < Double.POSITIVE_INFINITY)) {
        throw new IllegalArgumentException(
            "a weight is " + weight + "; weights are finite and not negative");
      }
      sum += weight;
    }
    if (length < 0 || !(sum > 0 && sum < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "a length of "
              + length
              + " and weights of "
              + sum
              + " in all cannot be split; both are finite, the weights above zero");
    }
    long[] lengths = new long[weights.length];
    double upTo = 0;
    long split = 0;
    for (int i = 0; i < weights.length; i++) {
      upTo += weights[i];
      // The last weight above zero reaches the sum exactly, because the order of additions is the
      // same.
      long end = upTo >= sum ? length : Math.min(length, Math.round(length * (upTo / sum)));
      lengths[i] = Math.max(0, end - split);
      split += lengths[i];
    }
    return lengths;
  }
}
