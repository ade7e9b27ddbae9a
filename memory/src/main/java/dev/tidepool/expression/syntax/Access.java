package dev.tidepool.expression.syntax;

/** What an expression does with the array behind a name. */
public enum Access {
  /** Only read. */
  IN,
  /** Written in full before it is read, if it is read at all: its contents need not travel. */
  OUT,
  /** Read, and then written in full. */
  INOUT;

  /** Whether the array's contents are needed. */
  public boolean reads() {
    return this != OUT;
  }

  /** Whether the array is changed. */
  public boolean writes() {
    return this != IN;
  }
}
