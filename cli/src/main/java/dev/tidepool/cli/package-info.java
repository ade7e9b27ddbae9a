/**
 * The {@code tidepool} command: what a person types, and what it prints.
 *
 * <p>It owns no computation: {@code eval} is a thin front of {@code dev.tidepool.stream}, {@code
 * info} prints what the API answers, {@code demo}, {@code selftest} and {@code bench} call the
 * public API as any program would.
 *
 * <p>Two ideas shape it. Every failure ends in one place, {@link dev.tidepool.cli.Failures}, as one
 * line that says what to do. And {@code eval} starts fast: its path loads neither the option parser
 * nor JSON nor test engines, so a well-formed command line is read by {@link
 * dev.tidepool.cli.EvalRequest} alone; everything else, help and mistakes included, goes through
 * picocli.
 */
@NullMarked
package dev.tidepool.cli;

import org.jspecify.annotations.NullMarked;
