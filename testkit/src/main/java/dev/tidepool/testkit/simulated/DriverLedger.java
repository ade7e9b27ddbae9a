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
 * The calls, bytes and violations of one simulated device. Safe for use by any thread. Commands are
 * counted when they are submitted, bytes when they have been moved.
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

  /** The place that submitted the running command. */
  static final ScopedValue<Place> SUBMITTED = ScopedValue.newInstance();

  /**
   * The place of a call of the device. Every command records one, so recording is fast; reading may
   * be slow.
   */
  static final class Place extends Throwable {
    private static final long serialVersionUID = 1L;

    Place() {
      this(true);
    }

    /** Creates a place with or without its stack. */
    Place(boolean isNoted) {
      super("the place of a call", null, false, isNoted);
    }

    /** Returns the callers of the device, one per line. */
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

  /** Returns the number of calls of a kind. */
  public long calls(SpiCall call) {
    return adder(call).sum();
  }

  /** Returns the number of calls of each kind; kinds without calls are omitted. */
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

  /** Returns the bytes that writes moved from the host to the device. */
  public long hostToDeviceBytes() {
    return hostToDevice.sum();
  }

  /** Returns the bytes that reads moved from the device to the host. */
  public long deviceToHostBytes() {
    return deviceToHost.sum();
  }

  /** Returns the bytes that copies moved between blocks, from this device's memory or a peer's. */
  public long deviceToDeviceBytes() {
    return deviceToDevice.sum();
  }

  /** Returns what a real driver would have punished, at most 200 entries. */
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

  /** Records a violation with the place that caused it or that submitted the running command. */
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

  @SuppressWarnings("NullAway") // the constructor creates a counter for every call
  private LongAdder adder(SpiCall call) {
    return calls.get(call);
  }
}
