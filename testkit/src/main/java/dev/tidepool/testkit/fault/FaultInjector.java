package dev.tidepool.testkit.fault;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceOptions;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.support.Uninterruptibly;
import dev.tidepool.testkit.SpiCall;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * Counts the calls of the backend interface and makes a chosen one fail.
 *
 * <pre>{@code
 * FaultInjector faults = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
 * try (Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open)) {
 *   faults.fail(SpiCall.WRITE, 3, Failure.BROKEN);
 *   ...
 * }
 * }</pre>
 *
 * <p>One fault is armed at a time and fires once, unless it always fires; a lost device stays lost.
 * Safe for use by any thread; the monitor guards counters, the armed fault and the loss of devices.
 */
public final class FaultInjector implements AcceleratorProvider {
  private static final int LOST = -9999;
  private static final int INJECTED = -9998;

  private final AcceleratorProvider provider;
  private final Map<SpiCall, Long> counts = new EnumMap<>(SpiCall.class);
  private long failable;

  private @Nullable SpiCall armedCall;
  private long remaining;
  private boolean always;
  private Failure failure = Failure.REFUSED;
  private @Nullable SpiCall fired;
  private boolean lost;

  private @Nullable SpiCall heldCall;
  private CountDownLatch heldUntil = new CountDownLatch(0);

  /** Creates an injector for the devices of a provider. */
  public FaultInjector(AcceleratorProvider provider) {
    this.provider = provider;
  }

  @Override
  public String name() {
    return provider.name();
  }

  @Override
  public Discovery discover() {
    return faulty(provider.discover());
  }

  @Override
  public Discovery discover(DeviceOptions options) {
    return faulty(provider.discover(options));
  }

  private Discovery faulty(Discovery found) {
    List<Device> devices =
        found.devices().stream().<Device>map(device -> new FaultyDevice(this, device)).toList();
    return new Discovery(devices, found.notes());
  }

  @Override
  public boolean offersOnlyTheCpu() {
    return provider.offersOnlyTheCpu();
  }

  /** Arms a fault: the {@code nth} call from now that may fail, counted from 1. */
  public synchronized void fail(long nth, Failure how) {
    arm(null, nth, how);
  }

  /** Arms a fault: the {@code nth} call of a kind from now, counted from 1. */
  public synchronized void fail(SpiCall call, long nth, Failure how) {
    if (!call.mayFail()) {
      throw new IllegalArgumentException(call + " never fails, by the seam's contract");
    }
    arm(call, nth, how);
  }

  /** Arms a fault: every call of a kind from now on, until the fault is disarmed or replaced. */
  public synchronized void failAlways(SpiCall call, Failure how) {
    fail(call, 1, how);
    always = true;
  }

  private void arm(@Nullable SpiCall call, long nth, Failure how) {
    if (nth < 1) {
      throw new IllegalArgumentException("the first call is number 1, not " + nth);
    }
    armedCall = call;
    remaining = nth;
    failure = how;
    fired = null;
    always = false;
  }

  /** Disarms a fault that has not fired, or that always fires. */
  public synchronized void disarm() {
    remaining = 0;
    always = false;
  }

  /** Makes the next call of a kind wait for a latch, like a slow driver. */
  public synchronized void hold(SpiCall call, CountDownLatch until) {
    heldCall = call;
    heldUntil = until;
  }

  /** Returns whether a call to be held has not been made yet. */
  public synchronized boolean holdsNext() {
    return heldCall != null;
  }

  /** Waits if this call is to be held. Waits without the monitor. */
  void pass(SpiCall call) {
    CountDownLatch until;
    synchronized (this) {
      if (heldCall != call) {
        return;
      }
      heldCall = null;
      until = heldUntil;
    }
    Uninterruptibly.await(until::await);
  }

  /** Returns the call that failed since the last fault was armed; empty if none did. */
  public synchronized Optional<SpiCall> fired() {
    return Optional.ofNullable(fired);
  }

  /** Returns whether a device was lost. */
  public synchronized boolean hasLostDevice() {
    return lost;
  }

  /** Returns the number of calls so far that may fail. */
  public synchronized long calls() {
    return failable;
  }

  /** Returns the number of calls so far by kind, including those that may not fail. */
  public synchronized Map<SpiCall, Long> callsByKind() {
    return new EnumMap<>(counts);
  }

  /** Counts a call and returns how it fails; null if it does not. */
  synchronized @Nullable Failure next(SpiCall call) {
    counts.merge(call, 1L, Long::sum);
    if (!call.mayFail()) {
      return null;
    }
    failable++;
    if (remaining > 0 && (armedCall == null || armedCall == call) && --remaining == 0) {
      fired = call;
      remaining = always ? 1 : 0;
      lost |= failure == Failure.DEVICE_LOST;
      return failure;
    }
    return null;
  }

  static AcceleratorException thrown(Failure failure, SpiCall call) {
    return switch (failure) {
      case DEVICE_LOST ->
          new AcceleratorException(
              call.name(),
              LOST,
              "INJECTED_DEVICE_LOST",
              "the device was chosen to be lost",
              AcceleratorException.Kind.DEVICE_LOST);
      case TRANSIENT ->
          new AcceleratorException(
              call.name(),
              INJECTED,
              "INJECTED_DISTURBANCE",
              "this call was chosen to fail once",
              AcceleratorException.Kind.TRANSIENT);
      case REFUSED, BROKEN, DAMAGED ->
          new AcceleratorException(
              call.name(), INJECTED, "INJECTED_FAULT", "this call was chosen to fail");
    };
  }
}
