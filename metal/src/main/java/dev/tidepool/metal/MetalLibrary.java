package dev.tidepool.metal;

import dev.tidepool.host.system.Platform;
import dev.tidepool.spi.support.NativeLibrary;
import java.lang.foreign.SymbolLookup;
import java.util.List;
import java.util.Optional;

/**
 * The Objective-C runtime and Apple's frameworks, or one library with all of their functions that
 * are used.
 */
final class MetalLibrary {
  /** The library of this machine. */
  static final NativeLibrary INSTALLED = installed();

  private static final String NAME = "Metal";

  // CoreGraphics comes first: without it a program that is no app gets no default device. The files
  // do not exist; the loader knows them by their names.
  private static final List<String> PARTS =
      List.of(
          "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics",
          "/System/Library/Frameworks/Foundation.framework/Foundation",
          "/System/Library/Frameworks/Metal.framework/Metal",
          "/usr/lib/libobjc.A.dylib");

  private MetalLibrary() {}

  private static NativeLibrary installed() {
    Optional<String> file = Settings.library();
    if (file.isPresent()) {
      return NativeLibrary.open(
          NAME + " library", List.of(file.get()), "check the property tidepool.metal.library");
    }
    return Platform.CURRENT.isMacOs()
        ? frameworks()
        : NativeLibrary.absent(
            NAME, "Metal is a part of macOS, and this is " + System.getProperty("os.name"));
  }

  private static NativeLibrary frameworks() {
    SymbolLookup all = _ -> Optional.empty();
    for (String part : PARTS) {
      NativeLibrary library =
          NativeLibrary.open(
              part, List.of(part), "Metal needs macOS " + Installed.OLDEST + " or newer");
      if (library.lookup().isEmpty()) {
        return NativeLibrary.absent(NAME, library.absence());
      }
      all = all.or(library.lookup().get());
    }
    return new NativeLibrary(NAME, Optional.of(all), "");
  }
}
