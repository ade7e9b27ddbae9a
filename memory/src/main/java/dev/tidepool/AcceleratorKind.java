package dev.tidepool;

/** The kind of processor that an accelerator is. */
public enum AcceleratorKind {
  /** The host's own processor, driven by this library or by another driver. */
  CPU,
  /** A graphics processor, discrete or integrated. */
  GPU,
  /** Anything else: FPGAs, DSPs and other accelerators. */
  OTHER
}
