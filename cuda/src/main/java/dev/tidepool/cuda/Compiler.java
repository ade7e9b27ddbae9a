package dev.tidepool.cuda;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.host.CacheFolder;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.CompilerLog;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Compiles CUDA C++ for one kind of device, and keeps the code on disk for the next process. If
 * NVRTC knows the device, it generates the device's own code. The driver may then be older than the
 * compiler: by minor versions in any case, by a major one if it accepts the code. Otherwise NVRTC
 * generates PTX for the newest device before it. The driver compiles PTX further, and must not be
 * of an older major version.
 *
 * <p>Cached programs run without NVRTC. If NVRTC is present, programs made by another version are
 * compiled again.
 */
final class Compiler {
  private final int architecture;
  private final CacheFolder cache;

  /**
   * Creates a compiler.
   *
   * @param architecture the device's compute capability: 90 for 9.0
   */
  Compiler(int architecture, CacheFolder cache) {
    this.architecture = architecture;
    this.cache = cache;
  }

  /**
   * Compiles a source, or returns the code of an earlier compilation. May take seconds.
   *
   * @param kernel its name in messages
   * @throws KernelCompilationException with the log if the source is wrong
   * @throws UnsupportedOperationException if no code is kept and there is no NVRTC, or it is too
   *     new for the device or the driver
   */
  byte[] compile(String kernel, String source, List<String> options) {
    String key = key(source, options);
    Optional<Made> kept = cache.get(key).map(Made::decode);
    Optional<String> absence = Nvrtc.absence();
    if (absence.isPresent()) {
      return kept.orElseThrow(
              () ->
                  new UnsupportedOperationException(
                      "'" + kernel + "' cannot be compiled: " + absence.get()))
          .code();
    }
    int target = target();
    boolean ownCode = target == architecture;
    String option = "--gpu-architecture=" + (ownCode ? "sm_" : "compute_") + target;
    // A library that the user named may replace NVIDIA's, and generate other code for the same
    // source.
    String maker = Settings.nvrtc().map(Path::toString).orElse("") + version() + option;
    return kept.filter(made -> made.maker().equals(maker))
        .orElseGet(
            () -> {
              Made made = new Made(maker, compiled(kernel, source, options, option, ownCode));
              cache.put(key, made.encode());
              return made;
            })
        .code();
  }

  /** Compiled code, with its compiler and target. */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record Made(String maker, byte[] code) {
    byte[] encode() {
      byte[] name = maker.getBytes(StandardCharsets.UTF_8);
      return ByteBuffer.allocate(name.length + 1 + code.length)
          .put(name)
          .put((byte) 0)
          .put(code)
          .array();
    }

    static Made decode(byte[] kept) {
      int end = 0;
      while (end < kept.length && kept[end] != 0) {
        end++;
      }
      return new Made(
          new String(kept, 0, end, StandardCharsets.UTF_8),
          Arrays.copyOfRange(kept, Math.min(end + 1, kept.length), kept.length));
    }
  }

  private int target() {
    int[] supported = Nvrtc.nvrtcGetSupportedArchs();
    int target =
        Arrays.stream(supported)
            .filter(candidate -> candidate <= architecture)
            .max()
            .orElseThrow(
                () ->
                    new UnsupportedOperationException(
                        "NVRTC "
                            + version()
                            + " makes code for compute capability "
                            + supported[0] / 10.0
                            + " and newer, and the device has "
                            + architecture / 10.0
                            + "; use an older NVRTC"));
    int driver = Nvrtc.driverMajor();
    if (target != architecture && Nvrtc.nvrtcVersion()[0] > driver) {
      throw new UnsupportedOperationException(
          "NVRTC "
              + version()
              + " does not know compute capability "
              + architecture / 10.0
              + ", and this driver, of CUDA "
              + driver
              + ", cannot read its PTX; install NVRTC "
              + driver
              + ", or update the driver");
    }
    return target;
  }

  private static String version() {
    int[] version = Nvrtc.nvrtcVersion();
    return version[0] + "." + version[1];
  }

  private static byte[] compiled(
      String kernel, String source, List<String> options, String target, boolean ownCode) {
    List<String> all = Stream.concat(options.stream(), Stream.of(target)).toList();
    long program = Nvrtc.nvrtcCreateProgram(source);
    try {
      if (!Nvrtc.nvrtcCompileProgram(program, all)) {
        String log = CompilerLog.of(() -> Nvrtc.nvrtcGetProgramLog(program));
        throw new KernelCompilationException(
            "NVRTC "
                + version()
                + " refused the source of '"
                + kernel
                + "'"
                + CompilerLog.firstError(log),
            log);
      }
      return ownCode ? Nvrtc.nvrtcGetCubin(program) : Nvrtc.nvrtcGetPtx(program);
    } finally {
      Closing.surviving(() -> Nvrtc.nvrtcDestroyProgram(program));
    }
  }

  private String key(String source, List<String> options) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      String device = architecture + " under " + Nvrtc.driverMajor();
      for (String part : List.of(device, String.join(" ", options), source)) {
        digest.update(part.getBytes(StandardCharsets.UTF_8));
        digest.update((byte) 0);
      }
      return HexFormat.of().formatHex(digest.digest());
    } catch (NoSuchAlgorithmException absent) {
      throw new AssertionError("every Java has SHA-256", absent);
    }
  }
}
