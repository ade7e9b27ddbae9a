module consumer {
  requires dev.tidepool.memory;
}
