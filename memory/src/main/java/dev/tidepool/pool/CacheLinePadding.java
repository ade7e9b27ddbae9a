package dev.tidepool.pool;

/**
 * An object that begins with unused bytes, so that writes to it do not slow down readers of the
 * object before it on the heap. Fields of a superclass come first. The collector may place objects
 * of different stripes next to each other. Writing one of them at every allocation costs the
 * readers of its neighbour more than a whole allocation. The padding is two cache lines, because
 * processors fetch them in pairs.
 */
@SuppressWarnings("UnusedVariable") // only their position matters
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

  /** Creates the padding of an object that is written often. */
  protected CacheLinePadding() {}
}
