package dev.tidepool.interop;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;

/** A library in C++ on the other side, compiled when the tests run. */
final class Peer {
  private static @Nullable Peer compiled;

  private final SymbolLookup symbols;

  private Peer(SymbolLookup symbols) {
    this.symbols = symbols;
  }

  /** The library; the test is skipped where there is no compiler. */
  static synchronized Peer get() {
    if (compiled == null) {
      Path library = compile().orElse(null);
      Assumptions.assumeTrue(library != null, "needs a C++ compiler: install g++");
      compiled = new Peer(SymbolLookup.libraryLookup(library, Arena.global()));
    }
    return compiled;
  }

  private static Optional<Path> compile() {
    try (InputStream source = Peer.class.getResourceAsStream("dlpack_peer.cpp")) {
      Path folder = Files.createTempDirectory("tidepool-peer");
      Path file = folder.resolve("peer.cpp");
      Files.write(file, source.readAllBytes());
      Path library = folder.resolve("libpeer.so");
      Process compiler =
          new ProcessBuilder(
                  "g++", "-O1", "-shared", "-fPIC", "-o", library.toString(), file.toString())
              .redirectErrorStream(true)
              .start();
      String text = new String(compiler.getInputStream().readAllBytes());
      if (compiler.waitFor() != 0) {
        throw new AssertionError("the peer does not compile: " + text);
      }
      // The last one goes first.
      for (Path one : new Path[] {folder, library, file}) {
        one.toFile().deleteOnExit();
      }
      return Optional.of(library);
    } catch (IOException e) {
      return Optional.empty();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private MethodHandle link(String name, FunctionDescriptor type) {
    return Linker.nativeLinker().downcallHandle(symbols.findOrThrow(name), type);
  }

  private Object call(String name, FunctionDescriptor type, Object... arguments) {
    try {
      return link(name, type).invokeWithArguments(arguments);
    } catch (Throwable e) {
      throw new AssertionError(name, e);
    }
  }

  private static MemorySegment pointer(long address) {
    return MemorySegment.ofAddress(address);
  }

  /**
   * Sizes and offsets as the compiler has them.
   *
   * @param function {@code layout} for DLPack's structures, {@code arrow_layout} for Arrow's
   */
  long[] layout(String function) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(JAVA_LONG, 32);
      long count = (long) call(function, FunctionDescriptor.of(JAVA_LONG, ADDRESS), out);
      return Arrays.copyOf(out.toArray(JAVA_LONG), (int) count);
    }
  }

  /** A tensor's fields as the peer reads them. */
  long[] describe(long tensor, boolean versioned) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(JAVA_LONG, 64);
      long count =
          (long)
              call(
                  "describe",
                  FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_INT, ADDRESS),
                  pointer(tensor),
                  versioned ? 1 : 0,
                  out);
      return Arrays.copyOf(out.toArray(JAVA_LONG), (int) count);
    }
  }

  void add(long tensor, boolean versioned, float value) {
    call(
        "add",
        FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT, JAVA_FLOAT),
        pointer(tensor),
        versioned ? 1 : 0,
        value);
  }

  void end(long tensor, boolean versioned) {
    call("end", FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT), pointer(tensor), versioned ? 1 : 0);
  }

  void endOnAThread(long tensor, boolean versioned) {
    call(
        "end_on_a_thread",
        FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT),
        pointer(tensor),
        versioned ? 1 : 0);
  }

  MemorySegment deleterOf(long tensor) {
    return (MemorySegment)
        call("deleter_of", FunctionDescriptor.of(ADDRESS, ADDRESS), pointer(tensor));
  }

  void call(MemorySegment deleter, long tensor) {
    call("call", FunctionDescriptor.ofVoid(ADDRESS, ADDRESS), deleter, pointer(tensor));
  }

  /** How often deleters of the peer were called. */
  int deletions() {
    return (int) call("deletions", FunctionDescriptor.of(JAVA_INT));
  }

  /** A tensor of the peer over bytes that hold 0, 1, 2, ... */
  long make(
      boolean versioned,
      long bytes,
      DLPackType type,
      long[] shape,
      long @Nullable [] strides,
      long offset) {
    try (Arena arena = Arena.ofConfined()) {
      FunctionDescriptor function =
          FunctionDescriptor.of(
              ADDRESS, JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS,
              ADDRESS, JAVA_LONG);
      MemorySegment made =
          (MemorySegment)
              call(
                  "make",
                  function,
                  versioned ? 1 : 0,
                  bytes,
                  type.code(),
                  type.bits(),
                  type.lanes(),
                  shape.length,
                  arena.allocateFrom(JAVA_LONG, shape),
                  strides == null ? MemorySegment.NULL : arena.allocateFrom(JAVA_LONG, strides),
                  offset);
      return made.address();
    }
  }

  /** Spoils a tensor by one of the peer's functions that take a number. */
  void spoil(String function, long tensor, int value) {
    call(function, FunctionDescriptor.ofVoid(ADDRESS, JAVA_INT), pointer(tensor), value);
  }

  void setFlags(long tensor, long flags) {
    call("set_flags", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG), pointer(tensor), flags);
  }

  /** Changes a tensor by one of the peer's functions that take nothing else. */
  void change(String function, long tensor) {
    call(function, FunctionDescriptor.ofVoid(ADDRESS), pointer(tensor));
  }
}
