package dev.tidepool.runtime.order;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** What an operation does with all the storages that it uses. */
final class ResourceAccesses {
  private ResourceAccesses() {}

  /** Returns one access for each storage, in the order of the storages' numbers. */
  static ResourceAccess[] of(List<ResourceAccess> uses) {
    if (uses.size() == 1) {
      return new ResourceAccess[] {uses.getFirst()};
    }
    return distinct(uses).toArray(ResourceAccess[]::new);
  }

  private static List<ResourceAccess> distinct(List<ResourceAccess> uses) {
    if (uses.size() == 2) {
      ResourceAccess first = uses.getFirst();
      ResourceAccess second = uses.getLast();
      int order = Long.compare(first.storage().number(), second.storage().number());
      if (order != 0) {
        return order < 0 ? uses : List.of(second, first);
      }
    }
    List<ResourceAccess> sorted = new ArrayList<>(uses);
    sorted.sort((a, b) -> Long.compare(a.storage().number(), b.storage().number()));
    List<ResourceAccess> distinct = new ArrayList<>();
    for (ResourceAccess use : sorted) {
      ResourceAccess last = distinct.isEmpty() ? null : distinct.getLast();
      if (last != null && last.storage().equals(use.storage())) {
        distinct.set(distinct.size() - 1, last.and(use));
      } else {
        distinct.add(use);
      }
    }
    return distinct;
  }

  /** Returns how many operations would be ahead of one with these accesses if it entered now. */
  static int mostAhead(ResourceAccess[] uses) {
    int most = 0;
    for (ResourceAccess use : uses) {
      most += use.storage().queue().mostAhead(use);
    }
    return most;
  }

  /** Ends copies in place. The caller holds the monitors of the storages. */
  static void stopInPlace(ResourceAccess[] uses) {
    for (ResourceAccess use : uses) {
      use.storage().useState().stop();
    }
  }

  /** Checks that all storages admit the operation. The caller holds their monitors. */
  static void check(ResourceAccess[] uses) {
    long now = System.nanoTime();
    for (ResourceAccess use : uses) {
      use.storage().check(use, now);
    }
  }

  /** Keeps the storages from being moved; waits while they are being moved. */
  static void occupy(ResourceAccess[] uses) {
    for (ResourceAccess use : uses) {
      use.storage().useState().begin(use);
    }
  }

  /** Lets the storages be moved. */
  static void vacate(ResourceAccess[] uses) {
    for (ResourceAccess use : uses) {
      vacate(use);
    }
  }

  /** Ends the use of the copies, if it has begun, and notifies requests that wait for memory. */
  static void vacate(ResourceAccess use) {
    OrderedResource storage = use.storage();
    if (!storage.useState().end(use)) {
      return;
    }
    ResourceContext context = storage.context();
    if (use.purpose() == ResourceAccess.Purpose.MOVE) {
      // Not the storage: it frees no more than before, and requests would retry it in turns.
      context.waiters().released(context.device());
    } else {
      context.waiters().released(context.device(), storage);
    }
  }

  static boolean isAnyMoving(ResourceAccess[] uses) {
    boolean any = false;
    for (ResourceAccess use : uses) {
      any |= use.storage().useState().isMoving();
    }
    return any;
  }

  /** Brings spilled bytes back to memory, for all storages together. */
  static void provideMemory(ResourceAccess[] uses, MultiBufferAdmission.Holder holder) {
    if (isAnySpilled(uses)) {
      MultiBufferAdmission.inTurn(
          holder,
          Stream.of(uses).map(use -> use.storage().context().admission()).toList(),
          () -> Stream.of(uses).forEach(use -> use.storage().provideMemory()));
    }
  }

  private static boolean isAnySpilled(ResourceAccess[] uses) {
    boolean any = false;
    for (ResourceAccess use : uses) {
      any |= use.storage().isSpilled();
    }
    return any;
  }

  /** Notes that the calling thread begins to run the operation. */
  static void runs(ResourceAccess[] uses) {
    for (ResourceAccess use : uses) {
      use.storage().operationStarted();
    }
  }

  /** Notes that the calling thread has run the operation. */
  static void ran(ResourceAccess[] uses) {
    for (ResourceAccess use : uses) {
      use.storage().operationEnded();
    }
  }

  /** Returns a failure as users see it. */
  static Throwable explained(ResourceAccess[] uses, Throwable thrown) {
    Throwable explained = thrown;
    for (ResourceAccess use : uses) {
      explained = use.storage().explained(explained);
    }
    return explained;
  }

  /** Returns a storage that both use, else one that the first uses, if any; for messages. */
  static Optional<OrderedResource> shared(ResourceAccess[] uses, ResourceAccess[] others) {
    return Stream.of(uses)
        .map(ResourceAccess::storage)
        .filter(storage -> Stream.of(others).anyMatch(use -> use.storage().equals(storage)))
        .findFirst()
        .or(() -> Stream.of(uses).map(ResourceAccess::storage).findFirst());
  }
}
