// The kernel of JavaScript and TypeScript: guest/envd/kernels.py says what it reads and writes. Cells are evaluated as in
// a debugger's console: a name may be declared again, and `await` works at the top.
{ // names of its own, none of a cell's
'use strict';
const fs = require('fs'), util = require('util'), net = require('net'), path = require('path');
const inspector = require('inspector'), { createRequire } = require('module'), { pathToFileURL } = require('url');
const typescript = process.argv[1] === 'typescript';
const take = Symbol.for('sandbox.value');
const session = new inspector.Session();
session.connect();
const post = (method, options) => new Promise((resolve, reject) =>
  session.post(method, options, (error, found) => (error ? reject(error) : resolve(found))));
const say = (word) => {
  let data = Buffer.from(JSON.stringify(word) + '\n');
  while (data.length) data = data.subarray(fs.writeSync(4, data));
};
const fail = (error) => {
  const known = error instanceof Error || (error && error.stack);
  const lines = String(known ? error.stack : util.inspect(error)).split('\n    at Session.post ')[0];
  say({ type: 'error', name: String(known ? error.name : 'Error'), value: String(known ? error.message : error),
        traceback: lines });
};
globalThis.require = createRequire(path.join(process.cwd(), 'cell.js'));
globalThis.__import = (name) => {
  name = name.replace(/^npm:(@?[^@]+)(@.*)?$/, '$1');
  const found = globalThis.require.resolve(name);
  return import(path.isAbsolute(found) ? pathToFileURL(found) : found);
};
const names = (text) => text.replace(/\s+as\s+/g, ': ');
const importing = (code) => code
  .replace(/^[ \t]*import\s+(?:(\w+)\s*(?:,\s*)?)?(?:\{([^}]*)\}|\*\s*as\s+(\w+))?\s*from\s*(['"][^'"]+['"]);?/gm,
    (_, whole, some, all, from) => [whole && `const {default: ${whole}} = await __import(${from});`,
      some && `const {${names(some)}} = await __import(${from});`,
      all && `const ${all} = await __import(${from});`].filter(Boolean).join(' '))
  .replace(/^[ \t]*import\s*(['"][^'"]+['"]);?/gm, 'await __import($1);')
  .replace(/\bimport\s*\(/g, '__import(');
const plain = (code) => {
  if (!typescript) return code;
  const tsc = process.env.PATH.split(':').map((folder) => path.join(folder, 'tsc')).find(fs.existsSync);
  const ts = createRequire(fs.realpathSync(tsc))('../lib/typescript.js');
  const options = { target: 'ES2022', module: 'ESNext', verbatimModuleSyntax: true };
  return ts.transpileModule(code, { compilerOptions: options }).outputText.replace(/^export \{\};$/m, '');
};
const valueOf = async (remote) => {
  let found;
  globalThis[take] = (value) => { found = value; };
  const { objectId, value, unserializableValue, type } = remote;
  if (objectId || unserializableValue) {
    const functionDeclaration = 'function(value) { globalThis[Symbol.for("sandbox.value")](value); }';
    const given = [objectId ? { objectId } : { unserializableValue }];
    await post('Runtime.callFunctionOn', { functionDeclaration, executionContextId: 1, arguments: given });
  } else found = type === 'undefined' ? undefined : value;
  return found;
};
const formats = [['text/html', 'html'], ['text/markdown', 'markdown'], ['image/svg+xml', 'svg'],
  ['image/png', 'png'], ['image/jpeg', 'jpeg'], ['application/json', 'json']];
const show = (value) => {
  if (value === undefined) return;
  const own = value && value[Symbol.for('Jupyter.display')];
  const made = typeof own === 'function' ? own.call(value) : {};
  const text = made['text/plain'] ?? (typeof value === 'string' ? value : util.inspect(value));
  const word = { type: 'result', is_main_result: true, text: String(text).slice(0, 8 << 20) };
  for (const [mime, name] of formats) if (mime in made) word[name] = made[mime];
  say(word);
};
let interrupt = () => {};
process.on('SIGINT', () => interrupt());
process.on('uncaughtException', (error) => console.error(error));
const run = async (code) => {
  const interrupted = new Promise((_, reject) => { interrupt = () => reject(new Error('interrupted')); });
  const options = { expression: importing(plain(code)), replMode: true, includeCommandLineAPI: false };
  const { result, exceptionDetails } = await Promise.race([post('Runtime.evaluate', options), interrupted]);
  if (exceptionDetails) fail(await valueOf(exceptionDetails.exception));
  else show(await valueOf(result));
};
const strings = [];
let part = [];
let busy = false;
const next = async () => {
  while (!busy && strings.length >= 2 && strings.length >= 2 + 2 * Number(strings[1])) {
    busy = true;
    const [code, count] = strings.splice(0, 2);
    const before = new Map();
    for (let n = 0; n < Number(count); n++) {
      const [name, value] = strings.splice(0, 2);
      before.set(name, process.env[name]);
      process.env[name] = value;
    }
    try { await run(code); } catch (error) { fail(error); }
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]; else process.env[name] = value;
    }
    say({ type: 'done' });
    busy = false;
  }
};
const cells = new net.Socket({ fd: 3, readable: true, writable: false });
cells.on('data', (data) => {
  for (let end = data.indexOf(0); end >= 0; end = data.indexOf(0)) {
    strings.push(Buffer.concat([...part, data.subarray(0, end)]).toString());
    part = [];
    data = data.subarray(end + 1);
  }
  part.push(data);
  next();
});
cells.on('end', () => process.exit(0));
}
