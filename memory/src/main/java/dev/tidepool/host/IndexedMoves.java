package dev.tidepool.host;

import java.lang.foreign.MemorySegment;

/** Gathers and scatters: the checks, then the moves. */
final class IndexedMoves {
  private IndexedMoves() {}

  static void gather(
      long elementBytes, MemorySegment source, Indices indices, MemorySegment destination) {
    Operands.movable(elementBytes, source, destination);
    long elements = Operands.elements("source", source, elementBytes);
    Operands.room("destination", destination, indices.count(), elementBytes);
    MemorySegment front = Operands.front(destination, indices.count() * elementBytes);
    Operands.apart(source, front);
    Operands.apart(indices.memory(), front);
    Operands.touching(indices.memory(), indices.memory(), () -> indices.check(elements));
    Operands.touching(
        source,
        destination,
        () ->
            new ElementMoves(indices.count())
                .move(
                    elementBytes,
                    source,
                    indices.places(elementBytes),
                    destination,
                    ElementMoves.every(elementBytes, 0),
                    indices.count()));
  }

  static void scatter(
      long elementBytes, MemorySegment source, Indices indices, MemorySegment destination) {
    Operands.movable(elementBytes, source, destination);
    long elements = Operands.elements("destination", destination, elementBytes);
    if (Operands.elements("source", source, elementBytes) != indices.count()) {
      throw new IllegalArgumentException(
          "%d indices for the %d elements of the source"
              .formatted(indices.count(), source.byteSize() / elementBytes));
    }
    Operands.apart(source, destination);
    Operands.apart(indices.memory(), destination);
    Operands.touching(indices.memory(), indices.memory(), () -> indices.check(elements));
    Operands.touching(
        source,
        destination,
        () ->
            new ElementMoves(indices.count())
                .move(
                    elementBytes,
                    source,
                    ElementMoves.every(elementBytes, 0),
                    destination,
                    indices.places(elementBytes),
                    indices.count()));
  }
}
