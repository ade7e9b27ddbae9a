package dev.tidepool.pool;

/**
 * An object that begins with bytes nobody uses, so that what lies before it on the heap is not
 * slowed down by its writes: fields of a superclass lie in front. The collector puts objects side
 * by side that threads of different stripes own, and one that is written at every allocation costs
 * those who read its neighbour more than all of an allocation does. Two cache lines, for processors
 * fetch them in pairs.
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
