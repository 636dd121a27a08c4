package org.sample;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;

import org.junit.Ignore;
import org.junit.Test;

public class CalcTest {
    private static final String CASE = String.valueOf(System.getenv("CASE"));

    @Test
    public void adds() {
        System.out.println("[INFO] a line of the test's\nTime elapsed");
        assertEquals(3, Calc.add(1, 2));
    }

    @Test
    public void fails() {
        assertNotEquals("failing", CASE);
    }

    @Test
    public void raises() {
        if (CASE.equals("failing")) throw new IllegalStateException("two\nlines");
    }

    @Test
    @Ignore("not here")
    public void isSkipped() {}
}
