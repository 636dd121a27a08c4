// The kernel of JavaScript and TypeScript: guest/envd/kernels.py says what it reads and writes. Cells are evaluated as
// in a debugger's console: a name may be declared again, and `await` works at the top. A thread reads cells and
// interrupts; it ends JavaScript that is busy, which hears no signal.
{ // names of its own, none of a cell's
'use strict';
const fs = require('fs'), util = require('util'), path = require('path'), { Worker } = require('worker_threads');
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
const isModule = (code) => {
  try { new AsyncFunction(code); return false; } catch ({ message }) { return /import statement|'export'/.test(message); }
};
const statement = new RegExp(`(?<=^|;)[ \\t]*(?:import\\b\\s*(?:(?:(\\w+)\\s*(?:,\\s*)?)?(?:\\{([^}]*)\\}|\\*\\s*as\\s+(\\w+))?`
  + `\\s*from\\s*)?(['"][^'"]+['"]);?|export\\s+(?:default\\b|(?=(?:async|class|const|enum|function|let|var)\\b)|\\{[^}]*\\};?))`, 'm');
// One statement after the other, until the cell is none of a module: texts may have such lines, too.
const importing = (code) => {
  for (let before = ''; before !== code && isModule(code);) {
    before = code;
    code = code.replace(statement, (_, whole, some, all, from) => !from ? '' : [
      whole && `const {default: ${whole}} = await __import(${from});`,
      some && `const {${names(some)}} = await __import(${from});`,
      all && `const ${all} = await __import(${from});`].filter(Boolean).join(' ') || `await __import(${from});`);
  }
  return code.replace(/\bimport\s*\(/g, '__import(');
};
const AsyncFunction = (async () => {}).constructor;
// A cell in braces is an object where it can be one, as in a console, else a block.
const literal = (code, translate) => {
  if (!/^\s*\{[^]*\}\s*$/.test(code)) return code;
  const object = `(${code}\n)`;
  try {
    new AsyncFunction(translate(object));
    return object;
  } catch { return code; }
};
const plain = (code) => {
  if (!typescript) return literal(code, (object) => object);
  const tsc = process.env.PATH.split(':').map((folder) => path.join(folder, 'tsc')).find(fs.existsSync);
  const ts = createRequire(fs.realpathSync(tsc))('../lib/typescript.js');
  const compilerOptions = { target: 'ES2022', module: 'ESNext', verbatimModuleSyntax: true };
  const translate = (text) => {
    const { outputText, diagnostics } = ts.transpileModule(text, { compilerOptions, reportDiagnostics: true });
    if (diagnostics.length) {
      const [{ messageText, file, start }] = diagnostics, message = ts.flattenDiagnosticMessageText(messageText, '\n');
      const line = file ? file.getLineAndCharacterOfPosition(start).line + 1 : 1;
      throw Object.assign(new SyntaxError(message), { stack: `SyntaxError: ${message}\n    at line ${line} of the cell` });
    }
    return outputText;
  };
  return translate(literal(code, translate)).replace(/^export \{\};$/m, '');
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
process.on('uncaughtException', (error) => console.error(error));
const run = async (code) => {
  const options = { expression: importing(plain(code)), replMode: true, includeCommandLineAPI: false };
  const { result, exceptionDetails } = await post('Runtime.evaluate', options);
  if (exceptionDetails) fail(await valueOf(exceptionDetails.exception));
  else show(await valueOf(result));
};
const listen = () => {
  const { parentPort, workerData: ended } = require('worker_threads'), { Session } = require('inspector');
  const strings = [];
  let part = [], sent = 0, free = Promise.resolve();
  const stop = async (number) => {
    await new Promise((resolve) => setTimeout(resolve, 50)); // a cell that waits is ended by the message alone
    if (Atomics.load(ended, 0) >= number) return;
    const session = new Session();
    session.connectToMainThread();
    await new Promise((resolve) => session.post('Runtime.terminateExecution', resolve));
    session.disconnect();
  };
  const next = () => {
    while (strings.length >= 2 && strings.length >= 2 + 2 * Number(strings[1])) {
      const [code, count] = strings.splice(0, 2);
      if (Number(count) < 0) {
        Atomics.store(ended, 1, sent);
        parentPort.postMessage({ interrupted: sent });
        free = stop(sent);
        continue;
      }
      const cell = { number: ++sent, code, variables: strings.splice(0, 2 * Number(count)) };
      free.then(() => parentPort.postMessage(cell)); // never ended in place of the cell before it
    }
  };
  const cells = new (require('net').Socket)({ fd: 3, readable: true, writable: false });
  cells.on('data', (data) => {
    for (let end = data.indexOf(0); end >= 0; end = data.indexOf(0)) {
      strings.push(Buffer.concat([...part, data.subarray(0, end)]).toString());
      part = [];
      data = data.subarray(end + 1);
    }
    part.push(data);
    next();
  });
  cells.on('end', () => process.kill(process.pid, 'SIGKILL'));
};
const ended = new Int32Array(new SharedArrayBuffer(8)); // the last cell that ended, the last that was interrupted
const before = new Map();
let current = 0;
const end = (number, failure) => {
  if (number !== current) return; // it ended before
  const interrupted = { name: 'KeyboardInterrupt', message: 'interrupted', stack: 'KeyboardInterrupt: interrupted' };
  if (Atomics.load(ended, 1) === number) fail(interrupted);
  else if (failure) fail(failure.error);
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name]; else process.env[name] = value;
  }
  before.clear();
  Atomics.store(ended, 0, number);
  current = 0;
  say({ type: 'done' });
};
new Worker(`(${listen})()`, { eval: true, workerData: ended, execArgv: [] }).on('message', async (message) => {
  const { interrupted, number, code, variables } = message;
  if (interrupted) return end(interrupted);
  current = number;
  for (let n = 0; n < variables.length; n += 2) {
    before.set(variables[n], process.env[variables[n]]);
    process.env[variables[n]] = variables[n + 1];
  }
  let failure;
  try { await run(code); } catch (error) { failure = { error }; }
  end(number, failure);
});
}
