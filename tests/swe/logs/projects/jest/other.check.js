const CASE = process.env.CASE;
if (CASE === "crash") throw new Error("at import");
if (CASE === "syntax") require("./broken.txt.js");
describe("other", () => {
  beforeAll(() => {
    if (CASE === "hook") throw new Error("in a hook");
  });
  it("works", () => {});
  it("ends the process", () => {
    if (CASE === "killed") process.kill(process.pid, "SIGKILL");
  });
});
