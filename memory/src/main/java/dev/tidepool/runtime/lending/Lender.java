package dev.tidepool.runtime.lending;

import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.diagnostics.UnclosedAccessReport;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.metering.AllocationSites;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.NativeQueue;
import java.lang.System.Logger.Level;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Lends the memory of one manager's buffers to native code, and ends accesses that became
 * unreachable without a close. Thread-safe.
 */
public final class Lender {
  private final StorageContext context;
  private final @Nullable AllocationSites sites;
  private final Set<Unclosed> open = ConcurrentHashMap.newKeySet();
  private final ReferenceQueue<NativeAccess> unreachable = new ReferenceQueue<>();

  /** The lending of an access, which is ended if the access becomes unreachable. */
  private static final class Unclosed extends PhantomReference<NativeAccess> {
    private final Lending lending;
    private final String site;

    Unclosed(
        NativeAccess access, ReferenceQueue<NativeAccess> queue, Lending lending, String site) {
      super(access, queue);
      this.lending = lending;
      this.site = site;
    }
  }

  public Lender(StorageContext context) {
    this.context = context;
    this.sites = context.isParanoid() ? new AllocationSites() : null;
  }

  /** Lends buffers; native code uses one of the manager's queues. */
  public NativeAccess lend(NativeUse... uses) {
    return lend(checked(uses), null);
  }

  /** Lends buffers; native code uses its own queue. */
  public NativeAccess lendOn(long queue, NativeUse... uses) {
    List<NativeUse> checked = checked(uses);
    Device device = context.device();
    if (!device.lendsBlocks()) {
      throw new UnsupportedOperationException(
          context.id() + " has no queues; lend the buffers with lend(...)");
    }
    return lend(checked, device.foreignQueue(queue));
  }

  private static List<NativeUse> checked(NativeUse... uses) {
    List<NativeUse> all = List.of(uses);
    if (all.isEmpty()) {
      throw new IllegalArgumentException("name the buffers to lend");
    }
    for (int i = 0; i < all.size(); i++) {
      for (int j = 0; j < i; j++) {
        if (all.get(i).buffer().equals(all.get(j).buffer())) {
          boolean written = all.get(i).writes() || all.get(j).writes();
          throw new IllegalArgumentException(
              all.get(i).buffer()
                  + " is named twice; name it once"
                  + (written ? ", with readWrite(...)" : "")
                  + ", and use its handle twice");
        }
      }
    }
    return all;
  }

  private NativeAccess lend(List<NativeUse> uses, @Nullable NativeQueue foreign) {
    Lending lending;
    List<LentRange> ranges;
    try {
      StackReserve.checkForTwo();
      ranges = new ArrayList<>(uses.size());
      for (NativeUse use : uses) {
        ranges.add(range(use));
      }
      checkSides(ranges);
      lending = new Lending(context, ranges, foreign);
    } catch (RuntimeException | Error e) {
      if (foreign != null) {
        foreign.close();
      }
      throw e;
    }
    lending.begin();
    try {
      NativeHandle[] handles = new NativeHandle[ranges.size()];
      for (int i = 0; i < handles.length; i++) {
        handles[i] = ranges.get(i).handle();
      }
      NativeAccess access = new OpenNativeAccess(context, lending, uses, handles);
      Unclosed left = new Unclosed(access, unreachable, lending, sites == null ? "" : sites.here());
      lending.whenEnded(() -> open.remove(left));
      open.add(left);
      return access;
    } catch (RuntimeException | Error e) {
      lending.end();
      throw e;
    }
  }

  private LentRange range(NativeUse use) {
    UnifiedBuffer<?> buffer = use.buffer();
    if (!(buffer instanceof BufferHandle<?> own)) {
      throw new IllegalArgumentException(
          buffer
              + " is a buffer of a program's own class, which cannot be lent; copy it to a buffer"
              + " of "
              + context.id()
              + " and lend that");
    }
    if (own.storage().context() != context) {
      throw new IllegalArgumentException(
          buffer
              + " belongs to another manager than that of "
              + context.id()
              + "; lend it with its own, or copy it to a buffer of this one");
    }
    NativeKind kind = use.kind();
    boolean lendsBlocks = context.device().lendsBlocks();
    if (!lendsBlocks && kind != null && kind != NativeKind.HOST_POINTER) {
      throw new UnsupportedOperationException(
          context.id() + " lends HOST_POINTER only, and not " + kind);
    }
    return new LentRange(own, use, !lendsBlocks || kind == NativeKind.HOST_POINTER);
  }

  /** Checks that no buffer is lent to both host and device: one would miss the other's writes. */
  private static void checkSides(List<LentRange> ranges) {
    for (LentRange one : ranges) {
      for (LentRange other : ranges) {
        if (one.storage() == other.storage() && one.toHost() != other.toHost()) {
          throw new IllegalArgumentException(
              one.storage()
                  + " is lent to the host and to the device at once; lend its parts after each"
                  + " other");
        }
      }
    }
  }

  private UnclosedAccessReport report(Unclosed access) {
    List<LentRange> ranges = access.lending.ranges();
    return new UnclosedAccessReport(
        context.id(),
        ranges.getFirst().storage().core().tag(),
        ranges.size(),
        ranges.stream().mapToLong(LentRange::bytes).sum(),
        access.site);
  }

  /** Ends accesses that are unreachable and were not closed, and reports them. */
  public void endUnreachable() {
    List<UnclosedAccessReport> ended = new ArrayList<>();
    for (Reference<?> gone = unreachable.poll(); gone != null; gone = unreachable.poll()) {
      Unclosed access = (Unclosed) gone;
      if (access.lending.isOpen()) {
        access.lending.end();
        ended.add(report(access));
      }
    }
    ended.forEach(report -> context.reports().report(Level.WARNING, report));
  }

  /** Ends all accesses, because the manager closes. Closing them later has no effect. */
  public void endAll() {
    List.copyOf(open).forEach(access -> access.lending.end());
  }
}
