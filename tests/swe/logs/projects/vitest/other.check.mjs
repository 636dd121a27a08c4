import { expect, test } from "vitest";

const CASE = process.env.CASE;
if (CASE === "crash") throw new Error("at import");
test("other works", () => expect(1).toBe(1));
test("ends the process", () => {
  if (CASE === "killed") process.kill(process.ppid, "SIGKILL");
});
