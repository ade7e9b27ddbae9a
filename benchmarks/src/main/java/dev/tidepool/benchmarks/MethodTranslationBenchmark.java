package dev.tidepool.benchmarks;

import dev.tidepool.KernelSource;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.c.DeviceLimits;
import dev.tidepool.methods.c.MethodGenerator;
import dev.tidepool.methods.c.MethodText;
import dev.tidepool.methods.c.OpenClC;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Translates a Java method to OpenCL C, without the driver's compiler. A method is read only once
 * for each class, so each translation gets its own class, which is defined before the measurement.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 7, time = 1)
@Fork(1)
public class MethodTranslationBenchmark {
  private static final class FreshLoader extends ClassLoader {
    private final byte[] file;

    FreshLoader(byte[] file) {
      super(MethodTranslationBenchmark.class.getClassLoader());
      this.file = file;
    }

    Class<?> define() {
      return defineClass(TiledProduct.class.getName(), file, 0, file.length);
    }

    @Override
    public @Nullable InputStream getResourceAsStream(String name) {
      return name.equals(TiledProduct.class.getName().replace('.', '/') + ".class")
          ? new ByteArrayInputStream(file)
          : super.getResourceAsStream(name);
    }
  }

  private byte[] file;
  private KernelSource.Method fresh;

  /** Reads the class file. */
  @Setup
  public void read() throws IOException {
    try (InputStream stream = TiledProduct.class.getResourceAsStream("TiledProduct.class")) {
      file = stream.readAllBytes();
    }
  }

  /** Defines a class that has not been read. */
  @Setup(Level.Invocation)
  public void makeClass() {
    fresh = KernelSource.method(new FreshLoader(file).define(), "tiled");
  }

  /** Translates the class file to OpenCL C. */
  @Benchmark
  public MethodText translation() {
    return MethodGenerator.generate(
        MethodReader.read(fresh),
        new OpenClC(false),
        new DeviceLimits(true, true, true, 512 << 10, 48 << 10, "opencl:0"),
        true);
  }
}
