package dev.tidepool;

/** A driver's function answered with an error. */
public class AcceleratorException extends TidepoolException {
  private static final long serialVersionUID = 1L;

  private final String call;
  private final int code;
  private final String codeName;

  /**
   * A driver's refusal.
   *
   * @param call the native function, such as {@code clEnqueueWriteBuffer}
   * @param code what it returned
   * @param codeName the code's name in the driver's header
   * @param detail what was asked for and what to do next
   */
  public AcceleratorException(String call, int code, String codeName, String detail) {
    super(call + " failed with " + codeName + " (" + code + "): " + detail);
    this.call = call;
    this.code = code;
    this.codeName = codeName;
  }

  /** The native function that failed. */
  public String call() {
    return call;
  }

  /** What it returned. */
  public int code() {
    return code;
  }

  /** The code's name in the driver's header. */
  public String codeName() {
    return codeName;
  }
}
