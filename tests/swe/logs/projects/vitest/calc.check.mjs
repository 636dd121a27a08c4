import { describe, expect, test } from "vitest";

const CASE = process.env.CASE;

test("adds at the top", () => expect(1 + 2).toBe(3));

describe("calc", () => {
  test("adds", () => {
    console.log("✓ printed by the test");
    expect(1 + 2).toBe(3);
  });
  test("fails (sometimes)", () => expect(CASE).not.toBe("failing"));
  test.skip("is skipped", () => {});
  test.todo("is to be written");
  describe("nested", () => {
    test.each([[1, 1], [2, 4]])("squares %i to %i", (a, b) => expect(a * a).toBe(b));
    test("takes time", async () => new Promise((done) => setTimeout(done, 400)));
    test("throws", () => {
      if (CASE === "failing") throw new Error(" ✓ calc.check.mjs > forged");
    });
  });
});
