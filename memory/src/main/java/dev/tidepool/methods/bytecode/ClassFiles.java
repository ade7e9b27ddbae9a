package dev.tidepool.methods.bytecode;

import dev.tidepool.spi.support.FailureText;
import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassModel;
import java.lang.constant.MethodTypeDesc;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Finds class files with a class loader, without loading the classes. */
final class ClassFiles {
  /** Thrown if a class file is present but cannot be read. */
  static final class UnreadableException extends RuntimeException {
    private static final long serialVersionUID = 1;

    UnreadableException(Exception cause) {
      super("cannot be read (" + FailureText.of(cause) + ")", cause);
    }

    /** Returns what is wrong with the class file, as the end of a sentence. */
    @Override
    public String getMessage() {
      return String.valueOf(super.getMessage());
    }
  }

  private record MethodKey(String owner, String name, MethodTypeDesc type) {}

  private final @Nullable ClassLoader loader;
  private final Map<String, Optional<ClassModel>> read = new HashMap<>();
  private final Map<MethodKey, Optional<MethodCode>> methods = new HashMap<>();

  /** Creates an instance for the class files that the loader of a class finds. */
  ClassFiles(Class<?> type) {
    this.loader = type.getClassLoader();
  }

  /**
   * Returns a class file by the internal name of its class; empty if there is none.
   *
   * @throws UnreadableException if the file cannot be read, or is no class file
   */
  Optional<ClassModel> find(String internalName) {
    return read.computeIfAbsent(internalName, this::parsed);
  }

  /**
   * Returns a static method by the internal name of its class, which may inherit the method; empty
   * if there is none with a body.
   *
   * @throws UnreadableException if a class file cannot be read, or is no class file
   */
  Optional<MethodCode> method(String owner, String name, MethodTypeDesc type) {
    return methods.computeIfAbsent(
        new MethodKey(owner, name, type), _ -> MethodCode.find(this, owner, name, type));
  }

  private Optional<ClassModel> parsed(String internalName) {
    String resource = internalName + ".class";
    try (InputStream stream =
        loader == null
            ? ClassLoader.getSystemResourceAsStream(resource)
            : loader.getResourceAsStream(resource)) {
      return stream == null
          ? Optional.empty()
          : Optional.of(MethodCode.parse(stream.readAllBytes()));
    } catch (IOException | IllegalArgumentException e) {
      throw new UnreadableException(e);
    }
  }
}
