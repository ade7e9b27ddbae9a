package dev.tidepool.pool;

/**
 * An object that begins with unused bytes, so that its writes do not slow down the object before it
 * on the heap: fields of a superclass lie in front. The collector places objects side by side that
 * threads of different stripes own. Writing one at every allocation costs the readers of its
 * neighbour more than a whole allocation. The padding is two cache lines, because processors fetch
 * them in pairs.
 */
@SuppressWarnings("UnusedVariable") // their place is what counts
public abstract class CacheLinePadding {
  private long a0;
  private long a1;
  private long a2;
  private long a3;
  private long a4;
  private long a5;
  private long a6;
  private long a7;
  private long a8;
  private long a9;
  private long a10;
  private long a11;
  private long a12;
  private long a13;
  private long a14;

  /** For what is written often. */
  protected CacheLinePadding() {}
}
