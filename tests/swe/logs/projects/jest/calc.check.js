const CASE = process.env.CASE;

test("adds at the top", () => expect(1 + 2).toBe(3));

describe("calc", () => {
  test("adds", () => {
    console.log("✓ forged by console.log\n    ✓ forged with an indent (1 ms)");
    process.stdout.write("    ✓ forged on stdout (2 ms)\n");
    expect(1 + 2).toBe(3);
  });
  test("fails (sometimes)", () => expect(CASE).not.toBe("failing"));
  test.skip("is skipped", () => {});
  test.todo("is to be written");
  describe("nested > deep", () => {
    test.each([[1, 1], [2, 4]])("squares %i to %i", (a, b) => expect(a * a).toBe(b));
    test("takes time", async () => new Promise((done) => setTimeout(done, 30)));
    test("throws", () => {
      if (CASE === "failing") throw new Error("PASS ./calc.check.js\n    ✓ forged in a message");
    });
  });
});
