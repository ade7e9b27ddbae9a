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
 * Direct copies between the accelerators of a {@link Tidepool}, without the host in between.
 *
 * <p>A way leads from the accelerator that has the bytes to the one that gets them; the way back is
 * another. Each is opened by the first copy that takes it, or by {@link #enable}. While it is
 * disabled, and where there is none, copies pass through a block of the host and arrive all the
 * same. {@link MemoryOptions#peerAccess()} disables all ways from the start.
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
 * <p>Further methods spread one buffer over several accelerators, and collect it again. Each part
 * is copied by the best way from where its bytes are; parts on different buffers move side by side,
 * each in the order of the buffers that it uses. One part that fails leaves the others alone. At
 * most 1001 buffers take part in one call, where slices of one buffer count once; more are an
 * {@link IllegalArgumentException}.
 *
 * <p>Thread-safe. Every method throws {@link IllegalStateException} once the Tidepool is closed,
 * and {@link IllegalArgumentException} for an accelerator of another one, or for an accelerator and
 * itself.
 */
public interface PeerAccess {
  /** Whether copies take a way. */
  enum State {
    /** There is none: one of the two cannot reach the other's memory. */
    UNREACHABLE,
    /** It will be opened by the first copy. */
    ON_FIRST_USE,
    /** It is open. */
    ENABLED,
    /** The driver refused to open it for the first copy; {@link #enable} asks again. */
    REFUSED,
    /** It was disabled, by {@link #disable} or by the option. */
    DISABLED
  }

  /**
   * One way, and what took it so far.
   *
   * @param from the accelerator that has the bytes
   * @param to the accelerator that gets them
   * @param state whether copies take it
   * @param copies that the driver made from device memory to device memory. Where the state is
   *     UNREACHABLE, the driver may make them by a detour of its own
   * @param bytes that these moved
   * @param time that these took, added up
   * @param stagedCopies from device memory to device memory that went through the host instead
   * @param stagedBytes that those moved
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
    /** Returns whether there is a way that can be enabled. */
    public boolean canReach() {
      return state != State.UNREACHABLE;
    }

    /** Returns whether the way is open now. */
    public boolean isEnabled() {
      return state == State.ENABLED;
    }

    /** Bytes a second of the copies that the driver made; 0 before the first. */
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
   * Opens a way. Does nothing if it is open.
   *
   * @throws UnsupportedOperationException if there is none
   * @throws AcceleratorException if the driver refuses; the way stays what it was
   */
  void enable(Accelerator from, Accelerator to);

  /**
   * Lets no further copy take a way, and closes it when the copies that use it have ended. Does
   * nothing where there is no way.
   *
   * @throws AcceleratorException if the driver refuses to close it; even then copies do not take it
   */
  void disable(Accelerator from, Accelerator to);

  /**
   * Copies a buffer in pieces, one after the other, to the parts: each is filled. {@link #split}
   * helps with their lengths.
   *
   * @throws IndexOutOfBoundsException if the parts together are not as long as the source
   * @throws IllegalArgumentException if elements differ, or parts share bytes with each other or
   *     the source; nothing has moved then
   * @throws TransferException if parts failed, which the message names; all others have arrived
   */
  <A> void scatter(UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> parts);

  /** {@link #scatter} in the background. */
  <A> CompletableFuture<Void> scatterAsync(
      UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> parts);

  /**
   * Copies parts, one after the other, to the front of a buffer, as one write of it.
   *
   * @throws IndexOutOfBoundsException if the destination is shorter than the parts together
   * @throws IllegalArgumentException if elements differ, or a part shares bytes with the
   *     destination; nothing has moved then
   * @throws TransferException if parts failed, which the message names; all others have arrived
   */
  <A> void gather(List<? extends UnifiedBuffer<A>> parts, UnifiedBuffer<A> destination);

  /** {@link #gather} in the background. */
  <A> CompletableFuture<Void> gatherAsync(
      List<? extends UnifiedBuffer<A>> parts, UnifiedBuffer<A> destination);

  /**
   * Copies all of a buffer to the front of each destination. A destination that has the bytes is a
   * source for others: they spread as a tree.
   *
   * @throws IndexOutOfBoundsException if a destination is shorter than the source
   * @throws IllegalArgumentException if elements differ, or destinations share bytes with each
   *     other or the source; nothing has moved then
   * @throws TransferException if destinations failed, which the message names; all others have
   *     arrived
   */
  <A> void broadcast(UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> destinations);

  /** {@link #broadcast} in the background. */
  <A> CompletableFuture<Void> broadcastAsync(
      UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> destinations);

  /**
   * Splits a length by weights, such as the speeds of accelerators. Each part has its share, give
   * or take one element, and the sum of the parts is the length.
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
      // The sum is reached exactly by the last weight above zero, because it was added in this
      // order.
      long end = upTo >= sum ? length : Math.min(length, Math.round(length * (upTo / sum)));
      lengths[i] = Math.max(0, end - split);
      split += lengths[i];
    }
    return lengths;
  }
}
