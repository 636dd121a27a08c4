package org.sample;

import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

@RunWith(Parameterized.class)
public class SquareTest {
    private final int number;

    public SquareTest(int number) {
        this.number = number;
    }

    @Parameters(name = "of {0}")
    public static Iterable<Object[]> numbers() {
        return Arrays.asList(new Object[][] {{1}, {2}});
    }

    @Test
    public void squares() {
        assertTrue(number * number > 0);
    }
}
