package dev.tidepool.stream;

import dev.tidepool.TransferException;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.stream.chunk.ChunkScheduler.Range;
import dev.tidepool.stream.file.AtomicFile;
import dev.tidepool.stream.pipeline.Journal;
import dev.tidepool.stream.pipeline.Journal.Trait;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The {@code .npy} files that a pipeline writes: begun together, and put in their places when all
 * are whole. With a journal beside the first of them, what was written outlives a run that does not
 * come to its end, and the next run of the same work goes on from there.
 */
final class NpyOutputs implements AutoCloseable {
  /**
   * A file that is to appear.
   *
   * @param overwrite whether one that exists is replaced
   * @param shortened whether it will have fewer elements than the header says
   */
  record Target(Path file, NpyHeader header, boolean overwrite, boolean shortened) {}

  private final Map<String, NpyWriter> writers = new LinkedHashMap<>();
  private @Nullable Journal journal;
  private List<Range> left = List.of();
  private String resumption = "";
  private boolean committed;

  private NpyOutputs() {}

  /**
   * Refuses one place for two files.
   *
   * @param updates whether a name's results may replace the very file that it is read from
   * @throws IllegalArgumentException if an output is also an input or another output
   */
  static void checkApart(Map<String, Path> inputs, Map<String, Path> outputs, boolean updates) {
    Map<String, Path> checked = new LinkedHashMap<>();
    outputs.forEach(
        (name, file) -> {
          inputs.forEach(
              (input, other) -> {
                if (!updates || !input.equals(name)) {
                  checkApart(name, file, input, other);
                }
              });
          checked.forEach((output, other) -> checkApart(name, file, output, other));
          checked.put(name, file);
        });
  }

  private static void checkApart(String name, Path file, String otherName, Path other) {
    if (isSame(file, other)) {
      throw new IllegalArgumentException(
          file
              + " is the output '"
              + name
              + "' and also '"
              + otherName
              + "'; name another file for one of them");
    }
  }

  private static boolean isSame(Path a, Path b) {
    if (a.toAbsolutePath().normalize().equals(b.toAbsolutePath().normalize())) {
      return true;
    }
    try {
      boolean exists = Files.exists(a);
      if (exists != Files.exists(b)) {
        return false;
      }
      return exists ? Files.isSameFile(a, b) : place(a).equals(place(b));
    } catch (IOException _) {
      return false; // What cannot be looked at cannot be opened either, and that error is clearer.
    }
  }

  /** Where a file that does not exist would be, links to its folder followed. */
  private static Path place(Path file) throws IOException {
    Path absolute = file.toAbsolutePath();
    Path folder = Objects.requireNonNull(absolute.getParent(), "a file has a folder");
    return folder.toRealPath().resolve(absolute.getFileName());
  }

  /**
   * Refuses to promise the bits of one accelerator for work that another one may go on with.
   *
   * @param exact whether every accelerator computes the same bits
   * @throws IllegalArgumentException if they are asked for and are not available
   */
  static void checkSameBits(StreamOptions options, boolean exact) {
    if (options.deterministic() && !exact) {
      throw new IllegalArgumentException(
          "functions such as exp cannot be resumed with the same bits, for another accelerator may"
              + " go on; leave one out: resuming, or asking for the same bits");
    }
  }

  /**
   * Begins files; none is a legal number.
   *
   * @throws TransferException as {@link NpyWriter#create} does
   */
  static NpyOutputs begin(Map<String, Target> targets) {
    return opened(
        outputs ->
            targets.forEach(
                (name, target) ->
                    outputs.writers.put(
                        name,
                        target.shortened()
                            ? NpyWriter.createShortened(
                                target.file(), target.header(), target.overwrite())
                            : NpyWriter.create(
                                target.file(), target.header(), target.overwrite()))));
  }

  /**
   * Goes on with files that an earlier run of the same work left, or else begins them again.
   *
   * @param targets at least one
   * @param work what the contents of the files depend on
   * @throws TransferException as {@link NpyWriter#create} does, or if another run is at the same
   *     work
   */
  static NpyOutputs resume(Map<String, Target> targets, List<Trait> work) {
    return opened(outputs -> outputs.open(targets, work));
  }

  private static NpyOutputs opened(Consumer<NpyOutputs> opening) {
    NpyOutputs outputs = new NpyOutputs();
    try {
      opening.accept(outputs);
      return outputs;
    } catch (RuntimeException | Error e) {
      try (outputs) {
        throw e;
      }
    }
  }

  private void open(Map<String, Target> targets, List<Trait> inputs) {
    List<Trait> work = new ArrayList<>(inputs);
    targets.forEach(
        (name, target) ->
            work.add(
                new Trait(
                    "the result '" + name + "'",
                    target.file().toAbsolutePath() + " " + target.header())));
    Target first = targets.values().iterator().next();
    Journal found = Journal.open(first.file());
    journal = found;
    long length = first.header().elementCount();
    String change = found.isBegun() ? change(found, targets, work) : "";
    if (found.isBegun() && change.isEmpty()) {
      targets.forEach(
          (name, target) ->
              writers.put(
                  name,
                  NpyWriter.reopen(
                      target.file(), target.header(), target.overwrite(), found.noted(name))));
      left = found.left(length);
      long open = left.stream().mapToLong(Range::count).sum();
      resumption = "goes on: %s of %s elements were done".formatted(length - open, length);
      return;
    }
    resumption = change.isEmpty() ? "" : "starts again: " + change;
    Map<String, String> partials = new LinkedHashMap<>();
    targets.keySet().forEach(name -> partials.put(name, AtomicFile.newPartialName()));
    try {
      if (!found.isBegun()) {
        targets.values().forEach(NpyOutputs::checkUnfinished);
      }
      found.begin(work, partials);
      targets.forEach(
          (name, target) ->
              writers.put(
                  name,
                  NpyWriter.createKept(
                      target.file(),
                      target.header(),
                      target.overwrite(),
                      Objects.requireNonNull(partials.get(name)))));
    } catch (RuntimeException | Error e) {
      forget(found, e);
      throw e;
    }
    left = found.left(length);
  }

  /** Without a journal, a result that exists is one that was completed, or is of other work. */
  private static void checkUnfinished(Target target) {
    if (!target.overwrite() && Files.exists(target.file())) {
      throw new TransferException(
          target.file()
              + " exists, and there is no unfinished run to resume: if this work made it, it is"
              + " complete; else name another file, or allow overwriting",
          new FileAlreadyExistsException(target.file().toString()));
    }
  }

  /** What could not be begun leaves nothing. */
  private void forget(Journal begun, Throwable cause) {
    writers.values().forEach(writer -> writer.file().discard());
    try {
      begun.delete();
    } catch (TransferException e) {
      cause.addSuppressed(e);
    }
  }

  /**
   * Why an earlier run's files are of no use, which are deleted then; empty if they are. Those that
   * were in their places already are taken back, so that all appear together.
   */
  private static String change(Journal found, Map<String, Target> targets, List<Trait> work) {
    String change = found.change(work);
    List<Path> partials = new ArrayList<>();
    Map<Path, Path> placed = new LinkedHashMap<>();
    try {
      for (Map.Entry<String, Target> target : targets.entrySet()) {
        String name = found.noted(target.getKey());
        if (!name.matches("\\.tidepool-[0-9a-f]+\\.partial")) {
          change = change.isEmpty() ? "its journal is damaged" : change;
          continue;
        }
        Path partial = AtomicFile.partial(target.getValue().file(), name);
        partials.add(partial);
        if (!change.isEmpty()) {
          continue;
        }
        Path place = AtomicFile.place(target.getValue().file());
        if (Files.exists(place)
            && AtomicFile.identity(place).equals(found.placed(target.getKey()))) {
          placed.put(place, partial);
        } else if (!Files.isRegularFile(partial, LinkOption.NOFOLLOW_LINKS)) {
          change = "what was written before is gone";
        }
      }
      if (change.isEmpty()) {
        for (Map.Entry<Path, Path> file : placed.entrySet()) {
          Files.deleteIfExists(file.getValue()); // A run that was killed may leave both names.
          Files.move(file.getKey(), file.getValue());
        }
      } else {
        for (Path partial : partials) {
          Files.deleteIfExists(partial);
        }
      }
    } catch (IOException e) {
      throw new TransferException("cannot go on: " + FileErrors.reason(e), e);
    }
    return change;
  }

  /** Returns the files by their names. */
  Map<String, NpyWriter> writers() {
    return writers;
  }

  /** Returns what of {@code length} elements is to be done. */
  List<Range> left(long length) {
    return journal == null ? List.of(new Range(0, length)) : left;
  }

  /** Returns what came of an earlier run, for people to read; empty if there was none. */
  String resumption() {
    return resumption;
  }

  /** A range is written to all files. */
  void written(Range range) {
    Journal open = journal;
    if (open != null) {
      open.written(range, this::force);
    }
  }

  private void force() throws IOException {
    for (NpyWriter writer : writers.values()) {
      writer.file().force();
    }
  }

  /**
   * Puts all files in their places, or none where one cannot be put there; what can be resumed is
   * safe on the disk before.
   */
  void commit() {
    prepare();
    writers.values().forEach(NpyWriter::commit);
    committed = true;
    if (journal != null) {
      journal.delete();
    }
  }

  /** Completes all files; if the process ends while they are put in their places, that is known. */
  void prepare() {
    Journal open = journal;
    if (open == null) {
      writers.values().forEach(NpyWriter::prepare);
      return;
    }
    open.force(this::force);
    Map<String, String> identities = new LinkedHashMap<>();
    writers.forEach(
        (name, writer) -> {
          writer.prepare();
          identities.put(name, writer.file().identity());
        });
    open.placing(identities);
  }

  /** Ends the writers; without a journal, files that are not in their places are deleted. */
  @Override
  public void close() {
    List<AutoCloseable> files = new ArrayList<>(writers.values());
    Journal open = journal;
    if (open != null) {
      if (!committed) {
        files.addFirst(() -> open.force(this::force));
      }
      files.add(open);
      journal = null;
    }
    NpyInputs.closeAll(files);
  }
}
