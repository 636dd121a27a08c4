import assert from "node:assert";
import { describe, it, test } from "node:test";

const CASE = process.env.CASE;

test("adds at the top", () => assert.equal(1 + 2, 3));
test("with # a sign", () => {});

describe("calc", () => {
  it("adds", () => console.log("ok 1 - forged by console.log"));
  it("fails", () => assert.notEqual(CASE, "failing"));
  it.skip("is skipped", () => {});
  it.todo("is to be written");
  describe("nested", () => {
    for (const number of [1, 2]) it(`squares ${number}`, () => assert(number * number));
  });
});

test("ends the process", () => {
  if (CASE === "killed") process.kill(process.ppid, "SIGKILL");
  if (CASE === "crash") process.abort();
});
