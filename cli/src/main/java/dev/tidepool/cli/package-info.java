/**
 * The {@code tidepool} command: its command lines and its output.
 *
 * <p>The package contains no computation. {@code eval} is a thin front end of {@code
 * dev.tidepool.stream}, {@code info} prints the results of the API, and {@code demo}, {@code
 * selftest} and {@code bench} call the public API like any program.
 *
 * <p>{@link dev.tidepool.cli.Failures} reports every failure as one line that says what to do.
 * {@code eval} starts fast: {@link dev.tidepool.cli.EvalRequest} reads a well-formed command line
 * without loading the option parser, JSON or test engines. Picocli handles everything else,
 * including help and errors.
 */
@NullMarked
package dev.tidepool.cli;

import org.jspecify.annotations.NullMarked;
