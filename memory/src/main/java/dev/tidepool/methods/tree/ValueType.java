package dev.tidepool.methods.tree;

/** A type of values as the JVM computes them. Booleans and short integers are {@code INT}. */
public enum ValueType {
  INT,
  LONG,
  FLOAT,
  DOUBLE;

  /** Returns whether values are floating-point numbers. */
  public boolean isFloating() {
    return this == FLOAT || this == DOUBLE;
  }
}
