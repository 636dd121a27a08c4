"""Programs for the larger image, each of which expects a number that is right if it is 2."""

GO_TEST = (
    'package main\nimport ("testing"; "github.com/stretchr/testify/assert")\n'
    "func TestX(t *testing.T) { assert.Equal(t, %d, 1+1) }"
)
JEST = (
    "import { test, expect } from '@jest/globals';\nconst f = (n: number): number => 2 * n;\n"
    "test('x', () => { expect(f(1)).toBe(%d); });"
)
JUNIT = (
    "import org.junit.jupiter.api.*;\nimport org.javatuples.Pair;\npublic class SumTest {"
    " @Test void sums() { Assertions.assertEquals(%d, Pair.with(1, 1).getValue0() + 1); } }"
)
TUPLES = (
    "import org.javatuples.Pair; class Main { public static void main(String[] a) {"
    " assert Pair.with(1, 1).getValue0() == %d - 1; } }"
)
RUNNERS = {
    "go_test": GO_TEST,
    "go": 'package main\nimport "github.com/stretchr/testify/assert"\n'
    "func main() { if !assert.ObjectsAreEqual(%d, 2) { panic(0) } }",
    "jest": JEST,
    "junit": JUNIT,
    "java": TUPLES,
    "cpp": (
        "#include <cassert>\n#include <openssl/md5.h>\n"
        'int main() { unsigned char d[16]; MD5((const unsigned char*)"a", 1, d); assert(d[0] == 10 + %d); }'
    ),
    "gtest": "#include <gtest/gtest.h>\nTEST(Sums, Two) { EXPECT_EQ(1 + 1, %d); }",
    "nodejs": "require('assert').equal(require('lodash').add(1, 1), %d)",
    "php": "assert(1 + 1 == %d);",
    "kotlin_script": "check(1 + 1 == %d)",
    "D_ut": "unittest { assert(1 + 1 == %d); }",
    "swift": "assert(1 + 1 == %d)",
    "racket": "(unless (= (+ 1 1) %d) (error 'no))",
    "R": "stopifnot(1 + 1 == %d)",
    "scala": "object Problem extends App { assert(1 + 1 == %d) }",
}
