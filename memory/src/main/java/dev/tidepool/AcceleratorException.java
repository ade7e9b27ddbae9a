package dev.tidepool;

/** Thrown if a driver's function returns an error. */
public class AcceleratorException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  /** The meaning of a driver's failure for later calls. */
  public enum Kind {
    /** A retry may succeed a moment later: resources were short, or a link was disturbed. */
    TRANSIENT,
    /** A retry would fail again; other calls may succeed. */
    PERMANENT,
    /** The device no longer answers. */
    DEVICE_LOST
  }

  private final String call;
  private final int code;
  private final String codeName;
  private final Kind kind;

  /** Creates an exception for a {@link Kind#PERMANENT} failure of a driver. */
  public AcceleratorException(String call, int code, String codeName, String detail) {
    this(call, code, codeName, detail, Kind.PERMANENT);
  }

  /**
   * Creates an exception for a driver's failure.
   *
   * @param call the native function, such as {@code clEnqueueWriteBuffer}
   * @param code the code that it returned
   * @param codeName the code's name in the driver's header
   * @param detail the request, and what to do
   * @param kind the meaning for later calls
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

  /** Returns the code that the function returned. */
  public int code() {
    return code;
  }

  /** Returns the code's name in the driver's header. */
  public String codeName() {
    return codeName;
  }

  /** Returns the meaning of the failure for later calls. */
  public Kind kind() {
    return kind;
  }
}
