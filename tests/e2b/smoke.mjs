// The JavaScript SDK, unmodified, against a pool server. Prints one JSON object of what it saw.
import { Sandbox, Template, waitForFile } from 'e2b'
import { Sandbox as Interpreter } from '@e2b/code-interpreter'

const seen = {}
const sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { from: 'javascript' }, envs: { FOO: 'bar' } })
try {
  seen.run = (await sandbox.commands.run('echo $FOO; id -un')).stdout
  seen.exit = await sandbox.commands.run('exit 3').catch((error) => error.exitCode)
  seen.timeout = await sandbox.commands.run('sleep 20', { timeoutMs: 1000 }).catch((error) => error.name)
  const cat = await sandbox.commands.run('cat; echo end', { background: true, stdin: true })
  await sandbox.commands.sendStdin(cat.pid, 'in\n')
  await sandbox.commands.closeStdin(cat.pid)
  seen.stdin = (await cat.wait()).stdout
  await sandbox.files.write('ü/file', 'héllo')
  seen.read = await sandbox.files.read('ü/file')
  seen.list = (await sandbox.files.list('ü')).map((entry) => entry.name)
  const big = new Uint8Array(20 << 20).fill(7)
  await sandbox.files.write('big', big.buffer)
  seen.big = (await sandbox.files.read('big', { format: 'bytes' })).length
  const events = []
  const watch = await sandbox.files.watchDir('ü', (event) => events.push(event.type))
  await sandbox.files.write('ü/new', '1')
  await new Promise((resolve) => setTimeout(resolve, 500))
  await watch.stop()
  seen.watch = events
  let output = ''
  const decoder = new TextDecoder()
  const terminal = await sandbox.pty.create({ cols: 70, rows: 20, onData: (data) => (output += decoder.decode(data)) })
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size; exit\n'))
  await terminal.wait()
  seen.pty = output.includes('20 70')
  seen.pause = await sandbox.pause()
  seen.resumed = await (await Sandbox.connect(sandbox.sandboxId)).files.read('ü/file')
  seen.url = await (await fetch(await sandbox.downloadUrl('ü/file'))).text()
  seen.refused = await sandbox.commands.run('id', { user: 'stranger' }).catch((error) => error.message)
  const cut = sandbox.commands.run('sleep 60').catch((error) => error.name)
  await new Promise((resolve) => setTimeout(resolve, 500))
  await sandbox.pause({ keepMemory: false })
  seen.cut = await cut
  await sandbox.connect()
  seen.metrics = (await sandbox.getMetrics()).length > 0
} finally {
  seen.kill = await sandbox.kill()
}
seen.running = await sandbox.isRunning()
const template = Template()
  .fromBaseImage()
  .setEnvs({ PATH: '/opt/own:$PATH' })
  .setStartCmd('sleep 1; touch ready; sleep 600', waitForFile('/home/user/ready'))
const built = await Template.build(template, 'javascript', { tags: ['v1'] })
const made = await Sandbox.create('javascript:v1', { timeoutMs: 60_000, envs: { FOO: 'bar' } })
try {
  seen.ready = await made.files.exists('ready')
  seen.template = (await made.getInfo()).templateId === built.templateId
  seen.listed = (await Sandbox.list({ query: { template: 'javascript' } }).nextItems()).length
  seen.tags = (await Template.getTags('javascript')).map((one) => one.tag)
  const copy = await Sandbox.create((await made.createSnapshot()).snapshotId, { timeoutMs: 60_000 })
  seen.copied = (await copy.commands.run('echo $FOO')).stdout
  await copy.kill()
} finally {
  await made.kill()
}
const interpreter = await Interpreter.create({ timeoutMs: 60_000 })
try {
  seen.code = (await interpreter.runCode('x = 41\nx + 1')).text
  seen.error = (await interpreter.runCode('1 / 0')).error.name
} finally {
  await interpreter.kill()
}
console.log(JSON.stringify(seen))
