// The spec reporter on standard output and, of the same run, how each test ended in report.json.
const fs = require("fs");
const { reporters } = require("mocha");
module.exports = class Both extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const told = [];
    for (const event of ["pass", "fail", "pending"]) runner.on(event, (test) => told.push([event, test.titlePath()]));
    runner.once("end", () => fs.writeFileSync("report.json", JSON.stringify(told)));
  }
};
