package dev.tidepool.cuda;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.ScalarBytes;
import dev.tidepool.spi.support.DeclaredParameters;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/**
 * CUDA C++ or compiled code that a user wrote. Its arrays are pointers to the first byte of each
 * argument, whatever the offset of the slice. Each item of the range is one thread, and each group
 * is one block; there is no thread beyond the range.
 */
final class HandWrittenProgram extends CudaProgram {
  // Larger blocks gain little, and registers suffice for fewer of them.
  private static final int GROUP = 256;
  // A multiprocessor runs this many threads at once: a smaller block leaves the rest of it idle.
  private static final int WARP = 32;
  // Every parameter has room for the largest scalar.
  private static final long VALUE_BYTES = 16;

  private final DeclaredParameters parameters;
  private final boolean checked;

  private HandWrittenProgram(LoadedKernel kernel, DeclaredParameters parameters, boolean checked) {
    super(kernel);
    this.parameters = parameters;
    this.checked = checked;
  }

  static HandWrittenProgram compile(CudaDevice device, KernelSource.Cuda source) {
    DeclaredParameters parameters = new DeclaredParameters(source.entry(), source.parameters());
    byte[] code =
        isPtx(source.source())
            ? source.source().getBytes(StandardCharsets.UTF_8)
            : device.compiler().compile(source.entry(), source.source(), List.of());
    return checked(LoadedKernel.load(device, code, source.entry()), parameters);
  }

  static HandWrittenProgram load(CudaDevice device, KernelSource.CudaImage image) {
    DeclaredParameters parameters = new DeclaredParameters(image.entry(), image.parameters());
    byte[] code = new byte[image.image().remaining()];
    image.image().get(code);
    return checked(LoadedKernel.load(device, code, image.entry()), parameters);
  }

  private static HandWrittenProgram checked(LoadedKernel kernel, DeclaredParameters parameters) {
    try {
      Optional<List<Long>> sizes = kernel.parameterSizes();
      sizes.ifPresent(known -> requireDeclared(kernel, known, parameters.all()));
      return new HandWrittenProgram(kernel, parameters, sizes.isPresent());
    } catch (RuntimeException | Error refused) {
      kernel.close();
      throw refused;
    }
  }

  /** Checks the number and sizes of the parameters; the driver does not report their types. */
  private static void requireDeclared(
      LoadedKernel kernel, List<Long> sizes, List<KernelParameter> parameters) {
    if (sizes.size() != parameters.size()) {
      throw new KernelCompilationException(
          "kernel '"
              + kernel.entry()
              + "' takes "
              + sizes.size()
              + (sizes.size() == 1 ? " parameter of " : " parameters of ")
              + sizes
              + " bytes, but "
              + parameters.size()
              + (parameters.size() == 1 ? " was declared: " : " were declared: ")
              + parameters.stream().map(KernelParameter::name).toList()
              + "; declare each, in its order; extern __shared__ memory is none",
          "");
    }
    for (int i = 0; i < sizes.size(); i++) {
      KernelParameter parameter = parameters.get(i);
      long bytes = bytesOf(parameter);
      if (sizes.get(i) != bytes) {
        throw new KernelCompilationException(
            "parameter "
                + i
                + " of kernel '"
                + kernel.entry()
                + "' has "
                + sizes.get(i)
                + " bytes in its code, but '"
                + parameter.name()
                + "' was declared as "
                + (parameter.access().isArray() ? "an array" : "a scalar")
                + " of "
                + parameter.type()
                + ", which is passed in "
                + bytes
                + "; declare the type that the code has there",
            "");
      }
    }
  }

  /** Returns the bytes in which a parameter is passed; an array is passed as a pointer. */
  private static long bytesOf(KernelParameter parameter) {
    return parameter.access().isArray() ? Long.BYTES : parameter.type().byteSize();
  }

  /** Returns whether the first line that is no comment is the first directive of PTX. */
  private static boolean isPtx(String source) {
    return source
        .lines()
        .map(String::strip)
        .filter(line -> !line.isEmpty() && !line.startsWith("//"))
        .findFirst()
        .filter(line -> line.startsWith(".version"))
        .isPresent();
  }

  /** A driver before CUDA 12.4 does not report how many bytes of a value the code reads. */
  @Override
  long overread() {
    return checked ? 0 : KernelArguments.LARGEST_PARAMETER;
  }

  @Override
  void bind(KernelArguments arguments, Launch launch) {
    parameters.requireFit(launch.arguments());
    LaunchRange range = launch.range();
    long[] block =
        range.group().isEmpty()
            ? kernel().groups().dividing(range, GROUP, WARP)
            : kernel().groups().asked(range);
    long[] grid = Grids.of(kernel(), range, block);
    kernel().allowShared(range.localBytes());
    for (int i = 0; i < parameters.all().size(); i++) {
      add(arguments, parameters.all().get(i), launch.arguments().get(i));
    }
    arguments.run(kernel(), grid, block, range.localBytes());
  }

  private static void add(
      KernelArguments arguments, KernelParameter parameter, KernelArgument argument) {
    switch (argument) {
      case KernelArgument.Array array ->
          arguments.addArray(array, parameter.type().layout().byteAlignment(), parameter.access());
      case KernelArgument.Scalar scalar -> {
        MemorySegment value = arguments.scratch().allocate(VALUE_BYTES, VALUE_BYTES);
        ScalarBytes.of(scalar.value(), parameter.type(), (_, _) -> value);
        arguments.add(value);
      }
    }
  }
}
