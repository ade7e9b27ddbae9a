package dev.tidepool.metal;

import dev.tidepool.AcceleratorException;

/** The errors of command buffers ({@code MTLCommandBufferError}), and what they mean. */
final class CommandErrors {
  static final int INTERNAL = 1;
  static final int TIMEOUT = 2;
  static final int PAGE_FAULT = 3;
  static final int ACCESS_REVOKED = 4;
  static final int NOT_PERMITTED = 7;
  static final int OUT_OF_MEMORY = 8;
  static final int INVALID_RESOURCE = 9;
  static final int DEVICE_REMOVED = 11;
  static final int STACK_OVERFLOW = 12;

  private static final String DOMAIN = "MTLCommandBufferErrorDomain";

  private CommandErrors() {}

  /**
   * Returns the exception for a command that failed.
   *
   * @param command the encoded command
   */
  static AcceleratorException failure(String command, Foundation.Failure failure) {
    int code = (int) failure.code();
    if (!failure.domain().equals(DOMAIN)) {
      return new AcceleratorException(command, code, failure.domain(), failure.description());
    }
    return new AcceleratorException(
        command,
        code,
        "MTLCommandBufferError" + nameOf(code),
        failure.description() + "; " + adviceFor(code),
        kindOf(code, failure.description()));
  }

  private static String nameOf(int code) {
    return switch (code) {
      case INTERNAL -> "Internal";
      case TIMEOUT -> "Timeout";
      case PAGE_FAULT -> "PageFault";
      case ACCESS_REVOKED -> "AccessRevoked";
      case NOT_PERMITTED -> "NotPermitted";
      case OUT_OF_MEMORY -> "OutOfMemory";
      case INVALID_RESOURCE -> "InvalidResource";
      case DEVICE_REMOVED -> "DeviceRemoved";
      case STACK_OVERFLOW -> "StackOverflow";
      default -> "";
    };
  }

  /**
   * Returns the kind of an error. Queues continue after a failed command, unless the process has
   * lost the device.
   */
  private static AcceleratorException.Kind kindOf(int code, String description) {
    return switch (code) {
      case OUT_OF_MEMORY -> AcceleratorException.Kind.TRANSIENT;
      case ACCESS_REVOKED, DEVICE_REMOVED -> AcceleratorException.Kind.DEVICE_LOST;
      // A command that was stopped because another one failed.
      default ->
          description.contains("InnocentVictim")
              ? AcceleratorException.Kind.TRANSIENT
              : AcceleratorException.Kind.PERMANENT;
    };
  }

  private static String adviceFor(int code) {
    return switch (code) {
      case TIMEOUT -> "the kernel ran for too long; launch smaller parts";
      case PAGE_FAULT, INVALID_RESOURCE ->
          "a kernel reached memory that is not its own; check hand-written kernels, under"
              + " MTL_SHADER_VALIDATION=1";
      case ACCESS_REVOKED ->
          "the system stopped this process's work on the device after earlier failures; restart it";
      case NOT_PERMITTED -> "the system does not let this process use the device now";
      case OUT_OF_MEMORY -> "close buffers, or work in smaller chunks";
      case DEVICE_REMOVED -> "the device was removed; open a new Tidepool";
      case STACK_OVERFLOW -> "a kernel needs less private memory";
      default -> "try again; if it fails again, report it";
    };
  }
}
