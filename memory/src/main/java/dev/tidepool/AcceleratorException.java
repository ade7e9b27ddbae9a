package dev.tidepool;

/** A driver's function answered with an error. */
public class AcceleratorException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  /** What a failure of the driver means for later calls. */
  public enum Kind {
    /** A second try may succeed a moment later: resources were short, or a link was disturbed. */
    TRANSIENT,
    /** A second try would fail again; other calls may succeed. */
    PERMANENT,
    /** The device no longer answers. */
    DEVICE_LOST
  }

  private final String call;
  private final int code;
  private final String codeName;
  private final Kind kind;

  /** Creates the exception for a driver's {@link Kind#PERMANENT} refusal. */
  public AcceleratorException(String call, int code, String codeName, String detail) {
    this(call, code, codeName, detail, Kind.PERMANENT);
  }

  /**
   * Creates the exception for a driver's refusal.
   *
   * @param call the native function, such as {@code clEnqueueWriteBuffer}
   * @param code what it returned
   * @param codeName the code's name in the driver's header
   * @param detail what was asked for and what to do next
   * @param kind whether it makes sense to try again
   */
  public AcceleratorException(String call, int code, String codeName, String detail, Kind kind) {
    super(call + " failed with " + codeName + " (" + code + "): " + detail);
    this.call = call;
    this.code = code;
    this.codeName = codeName;
    this.kind = kind;
  }

  /** Returns the native function that failed. */
  public String call() {
    return call;
  }

  /** Returns what it returned. */
  public int code() {
    return code;
  }

  /** Returns the code's name in the driver's header. */
  public String codeName() {
    return codeName;
  }

  /** Returns whether it makes sense to try again. */
  public Kind kind() {
    return kind;
  }
}
