package dev.tidepool.testkit.kernels;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;

/** Buffers with the contents of arrays. An array that is passed twice has one buffer. */
final class PassedBuffers implements AutoCloseable {
  private final UnifiedMemoryManager memory;
  private final MemoryLocation location;
  private final int margin;
  private final Object[] arguments;
  private final IdentityHashMap<Object, Passed<?>> passed = new IdentityHashMap<>();
  private final Deque<UnifiedBuffer<?>> open = new ArrayDeque<>();

  /** An array, and a buffer with its elements between two margins. */
  private record Passed<A>(A array, A padded, UnifiedBuffer<A> buffer) {}

  /**
   * Creates the buffers.
   *
   * @param margin the number of elements of a buffer in front of each argument, and behind it
   * @param arguments arrays and scalars
   * @param first the first of the arguments that may be a part of their array
   * @param lengths the number of elements of these arguments, at most the array's length
   */
  PassedBuffers(
      UnifiedMemoryManager memory,
      MemoryLocation location,
      int margin,
      Object[] arguments,
      int first,
      List<Integer> lengths) {
    this.memory = memory;
    this.location = location;
    this.margin = margin;
    this.arguments = arguments.clone();
    for (int i = 0; i < arguments.length; i++) {
      ElementType<?> type = ElementType.ofArray(arguments[i].getClass()).orElse(null);
      if (type != null) {
        boolean isPart = i >= first && i < first + lengths.size();
        this.arguments[i] = argument(type, arguments[i], isPart ? lengths.get(i - first) : -1);
      }
    }
  }

  private <A> UnifiedBuffer<?> argument(ElementType<A> type, Object value, int length) {
    A array = type.arrayClass().cast(value);
    Passed<?> made = passed.computeIfAbsent(array, _ -> passed(type, array));
    int elements = length < 0 ? type.length(array) : length;
    if (margin == 0 && elements == type.length(array)) {
      return made.buffer();
    }
    UnifiedBuffer<?> slice = made.buffer().slice(margin, elements);
    open.push(slice);
    return slice;
  }

  private <A> Passed<A> passed(ElementType<A> type, A array) {
    int length = type.length(array);
    A padded = type.newArray(length + 2 * margin);
    for (int i = 0; i < length + 2 * margin; i++) {
      System.arraycopy(array, Math.floorMod(i - margin, length), padded, i, 1);
    }
    UnifiedBuffer<A> buffer = memory.allocate(type, length + 2L * margin, location);
    open.push(buffer);
    buffer.copyFrom(padded);
    return new Passed<>(array, padded, buffer);
  }

  /** Returns the arguments with buffers instead of arrays. */
  Object[] arguments() {
    return arguments;
  }

  /**
   * Copies the contents of the buffers to the arrays.
   *
   * @throws IllegalStateException if an element in a margin has changed
   */
  void copyBack() {
    passed.values().forEach(this::copyBack);
  }

  private <A> void copyBack(Passed<A> of) {
    ElementType<A> type = of.buffer().elementType();
    int length = type.length(of.array());
    A found = type.newArray(length + 2 * margin);
    of.buffer().copyTo(found);
    System.arraycopy(found, margin, of.array(), 0, length);
    System.arraycopy(found, margin, of.padded(), margin, length);
    if (!Arrays.deepEquals(new Object[] {found}, new Object[] {of.padded()})) {
      throw new IllegalStateException("elements around a slice have changed");
    }
  }

  @Override
  public void close() {
    open.forEach(UnifiedBuffer::close);
  }
}
