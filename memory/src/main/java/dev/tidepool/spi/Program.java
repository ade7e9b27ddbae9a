package dev.tidepool.spi;

/** Compiled code of one device, for any number of launches by any thread. */
public interface Program extends AutoCloseable {
  /** Frees it; no launch may be under way. */
  @Override
  void close();
}
