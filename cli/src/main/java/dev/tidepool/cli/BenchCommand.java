package dev.tidepool.cli;

import com.google.gson.GsonBuilder;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.cli.trace.MalformedTraceException;
import dev.tidepool.cli.trace.Trace;
import dev.tidepool.cli.trace.TraceFile;
import dev.tidepool.spi.support.FailureText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tidepool bench}. */
@Command(
    name = "bench",
    description = {
      "Measure the pool, transfers and kernels of an accelerator in a few seconds.",
      "",
      "Each figure is beside that of the same work without a pool, without pinned",
      "memory, or in plain Java. If that is clearly faster, the next line says why.",
      "With --replay, repeats the allocations of a program with and without a pool."
    },
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    sortOptions = false,
    footer = {
      "",
      "A program that runs with TIDEPOOL_TRACE=FILE (or -Dtidepool.trace=FILE) records",
      "its allocations. The first fifth of a trace warms up the pool.",
      "",
      "Examples:",
      "  tidepool bench",
      "  tidepool bench --device opencl:0 --json figures.json",
      "  tidepool bench --device cuda:0 --calibrate",
      "  tidepool bench --replay app.trace --fill"
    })
final class BenchCommand implements Callable<Integer> {
  private final TidepoolCommand parent;

  @Option(
      names = "--replay",
      paramLabel = "TRACE",
      description = "Repeat the allocations that a program recorded in this file.")
  private @Nullable String replay;

  @Option(names = "--fill", description = "Fill each buffer once while replaying; takes longer.")
  private boolean fill;

  @Option(
      names = "--calibrate",
      description =
          "Measure the cost of each way to the device, print it, and keep it. The transfers of all"
              + " programs then take the cheapest way.")
  private boolean calibrate;

  @Option(
      names = "--device",
      paramLabel = "ID",
      description =
          "The accelerator, by its id in 'tidepool info'. Default: auto, the best accelerator, or"
              + " cpu:0 if there is only the CPU.")
  private String device = Selection.AUTO;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      description =
          "Write the figures to a file too, and replace it if it exists; times are in"
              + " nanoseconds, sizes in bytes.")
  private @Nullable String json;

  BenchCommand(TidepoolCommand parent) {
    this.parent = parent;
  }

  @Override
  public Integer call() throws IOException {
    if (replay == null && fill) {
      throw new WrongArguments("--fill belongs to --replay; see tidepool bench --help");
    }
    if (calibrate && replay != null) {
      throw new WrongArguments("--calibrate and --replay are two commands; give one");
    }
    if (json == null) {
      var _ = measured();
      return ExitStatus.DONE;
    }
    Path recorded = replay == null ? null : path(replay);
    // Opened first, so that a file that cannot be written is reported before anything is measured.
    try (OutputFile file = OutputFile.begin(path(json), recorded, true)) {
      file.write(text(measured()));
    }
    return ExitStatus.DONE;
  }

  private Object measured() throws IOException {
    if (calibrate) {
      return calibration();
    }
    return replay == null ? quick() : replay(trace(replay));
  }

  private QuickFigures.Report quick() {
    try (Selection selection = Selection.open(device, MemoryOptions.defaults())) {
      TimeTable table = new TimeTable(parent.out(), Terminal.likesColour());
      Tidepool tidepool = selection.tidepool();
      List<UnifiedMemoryManager> others =
          tidepool.accelerators().stream()
              .filter(other -> !other.id().equals(selection.accelerator().id()))
              .map(tidepool::memory)
              .toList();
      return new QuickFigures(tidepool.memory(selection.accelerator()), others, table).run();
    }
  }

  private CalibrationTable.Report calibration() {
    try (Selection selection = Selection.open(device, MemoryOptions.defaults())) {
      UnifiedMemoryManager memory = selection.tidepool().memory(selection.accelerator());
      return new CalibrationTable(parent.out())
          .print(selection.accelerator(), memory.transfers().calibrate());
    } catch (UnsupportedOperationException e) {
      throw new WrongArguments(FailureText.of(e) + "; choose another with --device", e);
    }
  }

  private ReplayTable.Report replay(Trace trace) {
    // The table creates its own managers, whose pools are empty at first.
    try (Selection selection = Selection.open(device, MemoryOptions.defaults())) {
      return new ReplayTable(selection.accelerator(), trace, fill, parent.out()).run();
    } catch (UnsupportedOperationException e) {
      throw new WrongArguments(trace.name() + " cannot be replayed here: " + FailureText.of(e), e);
    }
  }

  private static Trace trace(String name) throws IOException {
    Path file = path(name);
    MemoryOptions.defaults()
        .trace()
        .filter(recorded -> OutputFile.isSame(recorded, file))
        .ifPresent(
            _ -> {
              throw new WrongArguments(
                  "the replay of '" + name + "' would be recorded over it; unset TIDEPOOL_TRACE");
            });
    if (Files.isDirectory(file)) {
      throw new WrongArguments("'" + name + "' is a folder; give a file");
    }
    try {
      Trace trace = TraceFile.read(file);
      if (trace.events() == 0) {
        throw new WrongArguments(
            "the trace '" + name + "' is empty: the program that recorded it allocated nothing");
      }
      return trace;
    } catch (MalformedTraceException e) {
      throw new WrongArguments(e);
    } catch (IOException e) {
      throw WrongArguments.unreadable(name, e);
    }
  }

  private static Path path(String name) {
    try {
      return Path.of(name);
    } catch (InvalidPathException e) {
      throw new WrongArguments("'" + name + "' is no file name: " + e.getReason(), e);
    }
  }

  private static String text(Object report) {
    return new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create().toJson(report)
        + "\n";
  }
}
