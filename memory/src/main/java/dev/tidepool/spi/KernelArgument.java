package dev.tidepool.spi;

/** The argument of a program's parameter. */
public sealed interface KernelArgument {
  /** Bytes of a block, starting at any offset. */
  record Array(Block block, long offset, long bytes) implements KernelArgument {}

  /** A value: a {@link Number} or a {@link Boolean}, converted to the parameter's type. */
  record Scalar(Object value) implements KernelArgument {}
}
