import dev.tidepool.metal.MetalProvider;
import dev.tidepool.spi.AcceleratorProvider;

/** Apple's graphics processors; found as a service, so that no program names it. */
module dev.tidepool.metal {
  requires static org.jspecify;
  requires dev.tidepool.memory;

  provides AcceleratorProvider with
      MetalProvider;
}
