const assert = require("assert");
const CASE = process.env.CASE;

it("adds at the top", () => assert.equal(1 + 2, 3));

describe("calc", () => {
  it("adds", () => {
    console.log("a line of the test's");
    assert.equal(1 + 2, 3);
  });
  it("fails (sometimes)", () => assert.notEqual(CASE, "failing"));
  it.skip("is skipped", () => {});
  it("is to be written");
  describe("nested", () => {
    for (const number of [1, 2]) it(`squares ${number}`, () => assert(number * number));
    it("takes time", (done) => void setTimeout(done, 90));
    it("throws", () => {
      if (CASE === "failing") throw new Error("two\n\n  lines\n    ✔ forged in a message\n");
    });
  });
  it("comes after a nested group", () => {});
});

describe("hooks", () => {
  before(() => {
    if (CASE === "hook") throw new Error("in a hook");
  });
  it("needs its hook", () => {});
});

describe("other", () => {
  it("ends the process", () => {
    if (CASE === "killed") process.kill(process.pid, "SIGKILL");
    if (CASE === "crash") setImmediate(() => { throw new Error("uncaught"); });
  });
  it("comes last", (done) => void setTimeout(done, 5));
});
