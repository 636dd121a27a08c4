package org.sample;

import org.junit.Ignore;
import org.junit.Test;

public class IgnoredTest {
    @Test
    @Ignore("not here")
    public void isSkipped() {}
}
