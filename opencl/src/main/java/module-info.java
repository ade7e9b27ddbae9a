import dev.tidepool.opencl.OpenClProvider;
import dev.tidepool.spi.AcceleratorProvider;

/** OpenCL accelerators; found as a service, so that no program names it. */
module dev.tidepool.opencl {
  requires static org.jspecify;
  requires dev.tidepool.memory;

  provides AcceleratorProvider with
      OpenClProvider;
}
