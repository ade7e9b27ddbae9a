/** OpenCL accelerators; found as a service, so that no program names it. */
module dev.tidepool.opencl {
  requires static org.jspecify;
  requires dev.tidepool.memory;
}
