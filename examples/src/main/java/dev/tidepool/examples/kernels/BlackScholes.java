package dev.tidepool.examples.kernels;

import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.examples.Check;
import java.lang.invoke.MethodHandles;
import java.util.Random;

/**
 * Option prices by Black and Scholes: functions of {@link Math}, a method that returns a value, and
 * two results. The kernel computes {@code (float) Math.log(x)} of a float in floats if the device
 * has no doubles, so it runs everywhere.
 */
public final class BlackScholes {
  private static final KernelSource PRICES = KernelSource.method(MethodHandles.lookup(), "prices");
  private static final float RATE = 0.02f;
  private static final float VOLATILITY = 0.3f;

  private BlackScholes() {}

  /** Computes the price of one call option and one put option. */
  static void prices(
      int i,
      float rate,
      float volatility,
      float[] spots,
      float[] strikes,
      float[] years,
      float[] calls,
      float[] puts) {
    float deviation = volatility * (float) Math.sqrt(years[i]);
    float drift = (rate + 0.5f * volatility * volatility) * years[i];
    float d1 = ((float) Math.log(spots[i] / strikes[i]) + drift) / deviation;
    float d2 = d1 - deviation;
    float discounted = strikes[i] * (float) Math.exp(-rate * years[i]);
    calls[i] = spots[i] * normal(d1) - discounted * normal(d2);
    puts[i] = discounted * normal(-d2) - spots[i] * normal(-d1);
  }

  /** Returns the normal distribution by polynomial 26.2.17 of Abramowitz and Stegun. */
  private static float normal(float x) {
    float t = 1 / (1 + 0.2316419f * Math.abs(x));
    float polynomial = -1.8212559f + t * 1.3302745f;
    polynomial = 1.7814779f + t * polynomial;
    polynomial = -0.35656378f + t * polynomial;
    polynomial = t * (0.31938154f + t * polynomial);
    float tail = 0.3989423f * (float) Math.exp(-0.5f * x * x) * polynomial;
    return x > 0 ? 1 - tail : tail;
  }

  /** Returns the prices of the call options, followed by those of the put options. */
  static float[][] computed(
      UnifiedMemoryManager memory, float[] spots, float[] strikes, float[] years) {
    float[] calls = new float[spots.length];
    float[] puts = new float[spots.length];
    memory
        .compile(PRICES)
        .execute(
            Arguments.inOrder(RATE, VOLATILITY, spots, strikes, years, calls, puts),
            LaunchRange.of(spots.length));
    return new float[][] {calls, puts};
  }

  /** Returns the price of one call and one put option, computed by plain Java in doubles. */
  static double[] plain(double spot, double strike, double years) {
    double deviation = VOLATILITY * Math.sqrt(years);
    double drift = (RATE + 0.5 * VOLATILITY * VOLATILITY) * years;
    double d1 = (Math.log(spot / strike) + drift) / deviation;
    double d2 = d1 - deviation;
    double discounted = strike * Math.exp(-RATE * years);
    double call = spot * plainNormal(d1) - discounted * plainNormal(d2);
    return new double[] {call, call - spot + discounted};
  }

  private static double plainNormal(double x) {
    double[] factors = {0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429};
    double t = 1 / (1 + 0.2316419 * Math.abs(x));
    double power = Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI);
    double tail = 0;
    for (double factor : factors) {
      power *= t;
      tail += factor * power;
    }
    return x > 0 ? 1 - tail : tail;
  }

  /** Returns the largest difference to plain Java, relative to the sum of spot and strike. */
  static double error(float[][] prices, float[] spots, float[] strikes, float[] years) {
    double error = 0;
    for (int i = 0; i < spots.length; i++) {
      double[] plain = plain(spots[i], strikes[i], years[i]);
      for (int side = 0; side < 2; side++) {
        double difference = Math.abs(prices[side][i] - plain[side]);
        error = Math.max(error, difference / (spots[i] + strikes[i]));
      }
    }
    return error;
  }

  /** Returns random numbers between two limits. */
  static float[] random(int length, long seed, float least, float greatest) {
    Random random = new Random(seed);
    float[] values = new float[length];
    for (int i = 0; i < length; i++) {
      values[i] = least + (greatest - least) * random.nextFloat();
    }
    return values;
  }

  /** Runs the example; the argument is the number of options, 1,000,000 by default. */
  public static void main(String[] arguments) {
    int length = Check.size(arguments, 1_000_000);
    float[] spots = random(length, 1, 5, 100);
    float[] strikes = random(length, 2, 5, 100);
    float[] years = random(length, 3, 0.1f, 10);
    float[][] prices;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      prices = computed(memory, spots, strikes, years);
    }
    Check.that(
        error(prices, spots, strikes, years) < 1e-6,
        length + " prices are those in doubles, but for the rounding of floats");
  }
}
