package dev.tidepool.methods.tree;

/** A type of the elements of arrays. */
public enum ElementKind {
  /** One byte, 0 or 1; a store keeps the lowest bit. */
  BOOLEAN(1, ValueType.INT),
  BYTE(1, ValueType.INT),
  SHORT(2, ValueType.INT),
  INT(4, ValueType.INT),
  LONG(8, ValueType.LONG),
  FLOAT(4, ValueType.FLOAT),
  DOUBLE(8, ValueType.DOUBLE);

  private final int bytes;
  private final ValueType loaded;

  ElementKind(int bytes, ValueType loaded) {
    this.bytes = bytes;
    this.loaded = loaded;
  }

  /** Returns the size of an element. */
  public int bytes() {
    return bytes;
  }

  /** Returns the type of a loaded element: short integers are extended with their sign. */
  public ValueType loaded() {
    return loaded;
  }
}
