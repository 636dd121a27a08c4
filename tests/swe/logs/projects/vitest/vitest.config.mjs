export default { test: { include: ["*.check.mjs"] } };
