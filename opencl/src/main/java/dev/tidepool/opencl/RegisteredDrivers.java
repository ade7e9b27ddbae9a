package dev.tidepool.opencl;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The drivers that are registered with OpenCL's loader on Linux, according to its files. Reading
 * the files takes microseconds; loading PoCL takes a tenth of a second.
 *
 * @param vendors the folder of the loader's {@code .icd} files, each of which names a library
 * @param devices the folder of device nodes
 * @param environment the process's variables
 */
record RegisteredDrivers(
    Path vendors, Path devices, Function<String, @Nullable String> environment) {
  // Settings of the loader, of PoCL and of Tidepool that may add drivers that the files do not
  // show.
  private static final List<String> OVERRIDES =
      List.of(
          "OCL_ICD_VENDORS",
          "OCL_ICD_FILENAMES",
          "OPENCL_VENDOR_PATH",
          "POCL_DEVICES",
          "TIDEPOOL_OPENCL_LIBRARY");
  // DRM (Intel, AMD and others), NVIDIA, AMD's compute driver, Windows' GPU under WSL.
  private static final List<String> GRAPHICS = List.of("dri", "nvidiactl", "kfd", "dxg");

  static RegisteredDrivers ofThisMachine() {
    return new RegisteredDrivers(Path.of("/etc/OpenCL/vendors"), Path.of("/dev"), System::getenv);
  }

  /**
   * Returns whether all drivers are PoCL, which drives the processor, and the machine shows no
   * graphics processor. Returns false if that is not certain.
   */
  boolean areForTheCpu() {
    if (System.getProperty("tidepool.opencl.library") != null
        || OVERRIDES.stream().anyMatch(name -> environment.apply(name) != null)
        || GRAPHICS.stream().anyMatch(name -> Files.exists(devices.resolve(name)))) {
      return false;
    }
    boolean any = false;
    try (DirectoryStream<Path> files = Files.newDirectoryStream(vendors, "*.icd")) {
      for (Path file : files) {
        if (!Files.readString(file).toLowerCase(Locale.ROOT).contains("pocl")) {
          return false;
        }
        any = true;
      }
    } catch (IOException _) {
      // The folder is missing or not readable: loaders also look in other places.
      return false;
    }
    return any;
  }
}
