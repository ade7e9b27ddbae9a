package dev.tidepool.runtime.context;

import dev.tidepool.pool.ModelChecks;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

/**
 * All ways in which operations enter and leave a gate that closes, tried by a model checker: each
 * step looks as if it had happened at one moment, and a gate ends only while nothing is inside.
 */
public class OperationGateModelTest {
  private final OperationGate gate = new OperationGate();

  /** Creates a gate with one operation inside. */
  public OperationGateModelTest() {
    if (!gate.enter()) {
      throw new AssertionError("it is open");
    }
  }

  /** A user's operation begins, and does not end. */
  @Operation
  public boolean enter() {
    return gate.enter();
  }

  /** Work of the library begins, and does not end. */
  @Operation
  public boolean enterUntilEnd() {
    return gate.enterUntilEnd();
  }

  /** The first operation ends. */
  @Operation(runOnce = true)
  public void leave() {
    gate.leave();
  }

  /** Operations of users are refused from now on. */
  @Operation
  public void close() {
    gate.close();
  }

  /** Looks whether it could end. */
  @Operation
  public boolean isQuiet() {
    return gate.isQuiet();
  }

  /** Ends it. */
  @Operation
  public boolean end() {
    return gate.end();
  }

  /** Looks whether it has ended. */
  @Operation
  public boolean hasEnded() {
    return gate.hasEnded();
  }

  @Test
  void everyStepHappensAtOneMoment() {
    ModelChecks.options()
        .actorsPerThread(3)
        .actorsBefore(1)
        .actorsAfter(1)
        .check(OperationGateModelTest.class);
  }
}
