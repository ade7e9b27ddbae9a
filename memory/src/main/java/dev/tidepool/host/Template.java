package dev.tidepool.host;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Makes loops whose types, operators or distances are constants, without which the compiler would
 * not make vector code of them, or check every access: their class is a template, loaded once more
 * as a hidden class for each set of constants, which it takes from its class data.
 */
final class Template {
  private Template() {}

  /** An instance of {@code template} with its own constants. */
  static <T> T specialise(Class<?> template, Class<T> type, Object constants) {
    String file = template.getSimpleName() + ".class";
    try (InputStream code = template.getResourceAsStream(file)) {
      if (code == null) {
        throw new IllegalStateException(file + " is missing where " + template + " was found");
      }
      return load(code.readAllBytes(), type, constants);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** An instance of a class of this package that was written as a file, with its constants. */
  static <T> T load(byte[] file, Class<T> type, Object constants) {
    try {
      MethodHandles.Lookup loop =
          MethodHandles.lookup().defineHiddenClassWithClassData(file, constants, true);
      Object made =
          loop.findConstructor(loop.lookupClass(), MethodType.methodType(void.class)).invoke();
      return type.cast(made);
    } catch (Error | RuntimeException e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("no " + type + " for " + constants, e);
    }
  }
}
