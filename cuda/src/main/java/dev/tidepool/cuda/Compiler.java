package dev.tidepool.cuda;

import dev.tidepool.KernelCompilationException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/**
 * CUDA C++ to code for one kind of device, kept on disk for the next process. Where NVRTC knows the
 * device, it makes the device's own code, so that the driver may be older than the compiler;
 * otherwise it makes PTX for the newest device before it, which the driver compiles further.
 */
final class Compiler {
  private static final String FILE = "kernel.cu";

  private final int architecture;
  private final KernelCache cache;

  /**
   * A compiler.
   *
   * @param architecture the device's compute capability: 90 for 9.0
   */
  Compiler(int architecture, KernelCache cache) {
    this.architecture = architecture;
    this.cache = cache;
  }

  /**
   * Compiles, or finds what was compiled before. May take seconds.
   *
   * @param kernel what messages call it
   * @throws KernelCompilationException with the log if the source is wrong
   * @throws UnsupportedOperationException if there is no NVRTC, or it is too new for the device
   */
  byte[] compile(String kernel, String source, List<String> options) {
    Nvrtc.absence()
        .ifPresent(
            absence -> {
              throw new UnsupportedOperationException(
                  "'" + kernel + "' cannot be compiled: " + absence);
            });
    int target = target();
    boolean ownCode = target == architecture;
    String option = "--gpu-architecture=" + (ownCode ? "sm_" : "compute_") + target;
    String key = key(source, options, option);
    return cache
        .get(key)
        .orElseGet(
            () -> {
              byte[] code = compiled(kernel, source, options, option, ownCode);
              cache.put(key, code);
              return code;
            });
  }

  private int target() {
    int[] supported = Nvrtc.nvrtcGetSupportedArchs();
    return Arrays.stream(supported)
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
  }

  private static String version() {
    int[] version = Nvrtc.nvrtcVersion();
    return version[0] + "." + version[1];
  }

  private static byte[] compiled(
      String kernel, String source, List<String> options, String target, boolean ownCode) {
    List<String> all = Stream.concat(options.stream(), Stream.of(target)).toList();
    long program = Nvrtc.nvrtcCreateProgram(source, FILE);
    try {
      if (!Nvrtc.nvrtcCompileProgram(program, all)) {
        String log = Nvrtc.nvrtcGetProgramLog(program);
        throw new KernelCompilationException(
            "NVRTC " + version() + " refused the source of '" + kernel + "'" + firstError(log),
            log);
      }
      return ownCode ? Nvrtc.nvrtcGetCubin(program) : Nvrtc.nvrtcGetPtx(program);
    } finally {
      Closing.surviving(() -> Nvrtc.nvrtcDestroyProgram(program));
    }
  }

  /** The first line of a log that tells of an error, with its place. */
  static String firstError(String log) {
    return log.lines()
        .filter(line -> line.contains("error"))
        .findFirst()
        .map(line -> ": " + line.strip() + " (log() has the rest)")
        .orElse("; log() has what the compiler printed");
  }

  private static String key(String source, List<String> options, String target) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      // One that was named may stand in for NVIDIA's, and make other code of the same source.
      String named = Settings.nvrtc().map(Path::toString).orElse("");
      for (String part : List.of(named, version(), target, String.join(" ", options), source)) {
        digest.update(part.getBytes(StandardCharsets.UTF_8));
        digest.update((byte) 0);
      }
      return HexFormat.of().formatHex(digest.digest());
    } catch (NoSuchAlgorithmException absent) {
      throw new AssertionError("every Java has SHA-256", absent);
    }
  }
}
