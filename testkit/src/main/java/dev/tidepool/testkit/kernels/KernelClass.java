package dev.tidepool.testkit.kernels;

import dev.tidepool.WorkItem;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/**
 * A class of random kernels, compiled in memory. Its loader provides the class file as a resource,
 * because the library reads kernels from there.
 */
final class KernelClass {
  /** The method that calls one of the kernels, selected by an argument in front of the others. */
  static final String ALL = "all";

  private static final String NAME = "RandomKernels";

  private static final String HEAD =
      """
      final class RandomKernels {
        static final int SEVEN = 7;
        // Not known to Java's compiler.
        static final int READ_INT = Integer.parseInt("-3");
        static final long READ_LONG = Long.parseLong("-123456789012");
        static final float READ_FLOAT = Float.parseFloat("-0.75");
        static final double READ_DOUBLE = Double.parseDouble("1e-3");
        static final boolean READ_BOOLEAN = Boolean.parseBoolean("true");

        public static java.lang.invoke.MethodHandles.Lookup lookup() {
          return java.lang.invoke.MethodHandles.lookup();
        }

        private static float real(float x) {
          return x != x ? 1.5f : x;
        }

        private static double real(double x) {
          return x != x ? -1.5 : x;
        }
      """;

  private final MethodHandles.Lookup lookup;

  private KernelClass(MethodHandles.Lookup lookup) {
    this.lookup = lookup;
  }

  /** Returns the source of a class with these kernels. */
  static String source(List<KernelBody> bodies) {
    StringBuilder source = new StringBuilder();
    StringBuilder all = new StringBuilder();
    String parameters = KernelBody.parameters(bodies.getFirst().kinds());
    String arguments = String.join(", ", KernelBody.names(bodies.getFirst().kinds()));
    for (int i = 0; i < bodies.size(); i++) {
      source.append(bodies.get(i).source());
      all.append("      case ").append(i).append(": ").append(bodies.get(i).method());
      all.append("(").append(bodies.get(i).index().argument()).append(", ");
      all.append(arguments).append("); break;\n");
    }
    source.append(StoredArrayWriter.HELPERS);
    source.append("\n  static void all(dev.tidepool.WorkItem item, int which, ");
    source
        .append(parameters)
        .append(") {\n    switch (which) {\n")
        .append(all)
        .append("    }\n  }\n");
    return source(source.toString());
  }

  /** Returns the source of a class with these methods. */
  static String source(String methods) {
    return HEAD + methods + "}\n";
  }

  /**
   * Compiles a source.
   *
   * @throws IllegalArgumentException with the compiler's messages if the source is not valid Java
   */
  static KernelClass compile(String source) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    if (compiler == null) {
      throw new UnsupportedOperationException("random kernels need a JDK, which has a compiler");
    }
    StringWriter messages = new StringWriter();
    byte[] file;
    try (Output output = new Output(compiler.getStandardFileManager(null, null, null))) {
      // -Xlint:none, because random code has divisions by zero and useless casts.
      List<String> options = List.of("-g", "-parameters", "-proc:none", "-Xlint:none", "-nowarn");
      List<Source> sources = List.of(new Source(source));
      if (!compiler.getTask(messages, output, null, options, null, sources).call()) {
        throw new IllegalArgumentException(messages.toString());
      }
      file = output.file.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    try {
      Method lookup = new Loader(file).loadClass(NAME).getDeclaredMethod("lookup");
      lookup.setAccessible(true);
      return new KernelClass((MethodHandles.Lookup) lookup.invoke(null));
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("the compiled class cannot be used", e);
    }
  }

  /** Returns a lookup for the methods of the class. */
  MethodHandles.Lookup lookup() {
    return lookup;
  }

  /** Returns a method by its name. */
  Method method(String name) {
    Method found =
        Arrays.stream(lookup.lookupClass().getDeclaredMethods())
            .filter(method -> method.getName().equals(name))
            .findFirst()
            .orElseThrow();
    found.setAccessible(true);
    return found;
  }

  private static final class Source extends SimpleJavaFileObject {
    private final String text;

    Source(String text) {
      super(URI.create("string:///" + NAME + ".java"), Kind.SOURCE);
      this.text = text;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }

  /** The only library type that kernels use. */
  private static final class ItemType extends SimpleJavaFileObject {
    ItemType() {
      super(URI.create("memory:///WorkItem.class"), Kind.CLASS);
    }

    @Override
    public InputStream openInputStream() {
      return Objects.requireNonNull(WorkItem.class.getResourceAsStream("WorkItem.class"));
    }
  }

  /** Keeps the only class file. The class uses types of the JDK, and {@link WorkItem}. */
  private static final class Output extends ForwardingJavaFileManager<JavaFileManager> {
    private final ByteArrayOutputStream file = new ByteArrayOutputStream();

    Output(JavaFileManager manager) {
      super(manager);
    }

    /** Omits the class path, whose archives would be opened for each class. */
    @Override
    public Iterable<JavaFileObject> list(
        Location location, String packageName, Set<JavaFileObject.Kind> kinds, boolean recurse)
        throws IOException {
      if (location != StandardLocation.CLASS_PATH) {
        return super.list(location, packageName, kinds, recurse);
      }
      return packageName.equals(WorkItem.class.getPackageName())
          ? List.of(new ItemType())
          : List.of();
    }

    @Override
    public String inferBinaryName(Location location, JavaFileObject file) {
      return file instanceof ItemType
          ? WorkItem.class.getName()
          : super.inferBinaryName(location, file);
    }

    @Override
    public JavaFileObject getJavaFileForOutput(
        Location location,
        String className,
        JavaFileObject.Kind kind,
        javax.tools.@Nullable FileObject sibling) {
      return new SimpleJavaFileObject(URI.create("memory:///" + NAME + ".class"), kind) {
        @Override
        public OutputStream openOutputStream() {
          return file;
        }
      };
    }
  }

  private static final class Loader extends ClassLoader {
    private final byte[] file;

    Loader(byte[] file) {
      super(KernelClass.class.getClassLoader());
      this.file = file;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (!name.equals(NAME)) {
        throw new ClassNotFoundException(name);
      }
      return defineClass(name, file, 0, file.length);
    }

    @Override
    public @Nullable InputStream getResourceAsStream(String name) {
      return name.equals(NAME + ".class")
          ? new ByteArrayInputStream(file)
          : super.getResourceAsStream(name);
    }
  }
}
