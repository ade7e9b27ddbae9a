import dev.tidepool.cuda.CudaProvider;
import dev.tidepool.spi.AcceleratorProvider;

/** CUDA accelerators; found as a service, so that no program names it. */
module dev.tidepool.cuda {
  requires static org.jspecify;
  requires dev.tidepool.memory;

  provides AcceleratorProvider with
      CudaProvider;
}
