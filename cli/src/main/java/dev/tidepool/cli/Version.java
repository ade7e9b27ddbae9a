package dev.tidepool.cli;

import java.lang.module.ModuleDescriptor;
import java.util.Optional;
import picocli.CommandLine.IVersionProvider;

/** The output of {@code tidepool --version}. */
final class Version implements IVersionProvider {
  @Override
  public String[] getVersion() {
    return new String[] {
      "tidepool " + ofTidepool(),
      "Java %s (%s), %s %s"
          .formatted(
              Runtime.version(),
              System.getProperty("java.vendor"),
              System.getProperty("os.name"),
              System.getProperty("os.arch"))
    };
  }

  /** Returns the version of the module, or of the jar if the command runs from the class path. */
  static String ofTidepool() {
    Optional<String> ofModule =
        Optional.ofNullable(Version.class.getModule().getDescriptor())
            .flatMap(ModuleDescriptor::rawVersion);
    return ofModule
        .or(() -> Optional.ofNullable(Version.class.getPackage().getImplementationVersion()))
        .orElse("(not built by Maven)");
  }
}
