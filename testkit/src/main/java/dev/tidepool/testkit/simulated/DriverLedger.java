package dev.tidepool.testkit.simulated;

import dev.tidepool.testkit.SpiCall;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/**
 * What was asked of one simulated device: calls, bytes, and misdeeds. Safe for use by any thread;
 * commands are counted when they are submitted, bytes when they were moved.
 */
public final class DriverLedger {
  private static final int FRAMES = 12;
  private static final int MOST_VIOLATIONS = 200;
  private static final Set<String> OWN =
      Set.of(
          DriverLedger.class.getName(),
          SimulatedBlock.class.getName(),
          SimulatedDevice.class.getName(),
          SimulatedEvent.class.getName(),
          SimulatedProgram.class.getName(),
          SimulatedQueue.class.getName());

  /** While a command runs, the place that submitted it. */
  static final ScopedValue<Place> SUBMITTED = ScopedValue.newInstance();

  /**
   * Where a call of the device came from. Every command has one, so taking it is fast; reading it
   * may be slow.
   */
  static final class Place extends Throwable {
    private static final long serialVersionUID = 1L;

    Place() {
      this(true);
    }

    /** Creates a place that is noted or not. */
    Place(boolean isNoted) {
      super("the place of a call", null, false, isNoted);
    }

    /** Returns the callers of the device, a line for each. */
    String callers() {
      return Arrays.stream(getStackTrace())
          .filter(frame -> !isOwn(frame))
          .limit(FRAMES)
          .map(frame -> "\n    at " + frame)
          .collect(Collectors.joining());
    }
  }

  private final String deviceId;
  private final Map<SpiCall, LongAdder> calls = new EnumMap<>(SpiCall.class);
  private final List<String> violations = new CopyOnWriteArrayList<>();
  private final LongAdder hostToDevice = new LongAdder();
  private final LongAdder deviceToHost = new LongAdder();
  private final LongAdder deviceToDevice = new LongAdder();

  DriverLedger(String deviceId) {
    this.deviceId = deviceId;
    for (SpiCall call : SpiCall.values()) {
      calls.put(call, new LongAdder());
    }
  }

  /** Returns how often a call was made. */
  public long calls(SpiCall call) {
    return adder(call).sum();
  }

  /** Returns how often each call was made; calls that were not are left out. */
  public Map<SpiCall, Long> calls() {
    Map<SpiCall, Long> made = new EnumMap<>(SpiCall.class);
    calls.forEach(
        (call, count) -> {
          if (count.sum() > 0) {
            made.put(call, count.sum());
          }
        });
    return made;
  }

  /** Bytes that writes moved from the host to the device. */
  public long hostToDeviceBytes() {
    return hostToDevice.sum();
  }

  /** Bytes that reads moved from the device to the host. */
  public long deviceToHostBytes() {
    return deviceToHost.sum();
  }

  /** Bytes that copies moved between blocks, from this device's memory or a peer's. */
  public long deviceToDeviceBytes() {
    return deviceToDevice.sum();
  }

  /** Returns what a real driver would have punished, the first 200 of it. */
  public List<String> violations() {
    return List.copyOf(violations);
  }

  void count(SpiCall call) {
    adder(call).increment();
  }

  void wroteToDevice(long bytes) {
    hostToDevice.add(bytes);
  }

  void readFromDevice(long bytes) {
    deviceToHost.add(bytes);
  }

  void copiedOnDevice(long bytes) {
    deviceToDevice.add(bytes);
  }

  /** Notes a misdeed with the place that did it, or that asked for the command that did. */
  void violation(String what) {
    if (violations.size() < MOST_VIOLATIONS) {
      Place place = SUBMITTED.isBound() ? SUBMITTED.get() : new Place();
      violations.add(deviceId + ": " + what + place.callers());
    }
  }

  private static boolean isOwn(StackTraceElement frame) {
    String name = frame.getClassName();
    int nested = name.indexOf('$');
    return OWN.contains(nested < 0 ? name : name.substring(0, nested));
  }

  @SuppressWarnings("NullAway") // every call has its counter from the constructor on
  private LongAdder adder(SpiCall call) {
    return calls.get(call);
  }
}
