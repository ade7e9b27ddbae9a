package dev.tidepool.stream.pipeline;

import dev.tidepool.KernelSource;
import dev.tidepool.methods.bytecode.MethodReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * Describes kernels by all that their results depend on, to compare them with those of an earlier
 * run.
 */
public final class KernelTraits {
  private KernelTraits() {}

  /**
   * Returns a trait for each kernel.
   *
   * @param first the number in the name of the first one
   */
  public static List<Journal.Trait> of(List<KernelSource> kernels, int first) {
    List<Journal.Trait> traits = new ArrayList<>();
    for (KernelSource kernel : kernels) {
      int number = first + traits.size();
      traits.add(new Journal.Trait("kernel " + number, kernel + contents(kernel)));
    }
    return traits;
  }

  /** Returns a digest of what the text of a kernel does not contain. */
  private static String contents(KernelSource kernel) {
    return switch (kernel) {
      case KernelSource.CudaImage compiled -> digest(compiled.image());
      // With the methods that it calls and the constants that it uses.
      case KernelSource.Method method ->
          digest(StandardCharsets.UTF_8.encode(MethodReader.read(method).toString()));
      default -> "";
    };
  }

  private static String digest(ByteBuffer contents) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(contents);
      return " " + HexFormat.of().formatHex(digest.digest());
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }
}
