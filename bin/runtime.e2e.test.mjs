import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { nodePath, refuseWhileInUse, StartRefused } from './runtime.mjs'

const BIN = dirname(fileURLToPath(import.meta.url))

let temp
before(() => {
  temp = mkdtempSync(join(tmpdir(), 'keyrail test '))
})
after(() => rmSync(temp, { recursive: true, force: true }))

/** A checkout with our `bin`, one workspace and one development package to install, and a command line that prints its arguments. */
function makeCheckout(name, mainText = 'console.log(JSON.stringify(process.argv.slice(2)))') {
  const root = join(temp, name)
  mkdirSync(join(root, 'packages/server/src/cli'), { recursive: true })
  cpSync(BIN, join(root, 'bin'), { recursive: true })
  const leaf = { name: 'leaf', version: '1.0.0' }
  const tool = { name: 'tool', version: '1.0.0' }
  const top = {
    name: 'top',
    version: '1.0.0',
    workspaces: ['packages/server'],
    devDependencies: { tool: 'file:tool' },
  }
  writeFileSync(join(root, 'packages/server/src/cli/main.ts'), mainText)
  writeFileSync(join(root, 'packages/server/package.json'), JSON.stringify(leaf))
  mkdirSync(join(root, 'tool'))
  writeFileSync(join(root, 'tool/package.json'), JSON.stringify(tool))
  writeFileSync(join(root, 'package.json'), JSON.stringify(top))
  const packages = {
    '': top,
    'node_modules/leaf': { resolved: 'packages/server', link: true },
    'packages/server': leaf,
    'node_modules/tool': { resolved: 'tool', link: true, dev: true },
    tool: { ...tool, dev: true },
  }
  writeFileSync(
    join(root, 'package-lock.json'),
    JSON.stringify({ ...top, workspaces: undefined, lockfileVersion: 3, requires: true, packages }),
  )
  return root
}

function start(root, args = [], options = {}) {
  const child = spawn(process.execPath, [join(root, 'bin/keyrail.mjs'), ...args], { cwd: '/', ...options })
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', text => {
    output.out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    output.err += text
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...output }))
  return { child, ended, output }
}

async function until(condition) {
  for (let looks = 0; looks < 6_000; looks += 1) {
    if (condition()) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  assert.fail(`never true: ${condition}`)
}

describe('choice of Node', () => {
  test('the current Node is used if new enough, else the message says what is needed', () => {
    assert.equal(nodePath({ root: temp, own: { path: '/opt/node', version: '24.0.0' } }), '/opt/node')
    assert.throws(
      () => nodePath({ root: temp, own: { path: '/opt/node', version: '20.20.2' } }),
      /needs Node >= 24/,
    )
  })

  test('the Node from the lockfile comes first', () => {
    const root = join(temp, 'with node')
    const bin = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin')
    mkdirSync(bin, { recursive: true })
    writeFileSync(join(bin, 'node'), '')
    assert.equal(nodePath({ root, own: { path: '/opt/node', version: '26.0.0' } }), join(bin, 'node'))
  })
})

test('npm ci is refused while a program runs out of node_modules, and the message names it', async () => {
  const nodeModules = join(temp, 'used', 'node_modules')
  mkdirSync(nodeModules, { recursive: true })
  cpSync('/bin/sleep', join(nodeModules, 'server'), { dereference: true })
  refuseWhileInUse(nodeModules)
  const user = spawn(join(nodeModules, 'server'), ['60'])
  await once(user, 'spawn')
  assert.throws(
    () => refuseWhileInUse(nodeModules),
    error => error instanceof StartRefused && error.message.includes(`kill -INT ${user.pid}`),
  )
  user.kill()
})

describe('a start', () => {
  test('installs a fresh checkout, and two starts at the same moment install once', async () => {
    const root = makeCheckout('two at once')
    const ends = await Promise.all([start(root, ['one']).ended, start(root, ['two']).ended])
    assert.deepEqual(
      ends.map(({ code, out }) => [code, out]),
      [
        [0, '["one"]\n'],
        [0, '["two"]\n'],
      ],
    )
    const printed = ends.map(({ err }) => err).join('')
    assert.equal(printed.match(/Installing packages with npm ci/g)?.length, 1, printed)
    assert.equal(printed.match(/Installed in \d+\.\d s/g)?.length, 1, printed)
    assert.equal(existsSync(join(root, '.install-lock')), false)
  })

  test('repairs an installation that was killed in the middle', async () => {
    const root = makeCheckout('killed install')
    const first = start(root, [], { detached: true })
    await until(() => first.output.err.includes('Installing'))
    process.kill(-first.child.pid, 'SIGKILL')
    await first.ended
    const second = await start(root, ['again']).ended
    assert.equal(second.out, '["again"]\n', second.err)
  })

  test('reports a failed npm, starts nothing, and the next start tries again', async () => {
    const root = makeCheckout('failing install')
    const lockfile = readFileSync(join(root, 'package-lock.json'), 'utf8')
    writeFileSync(
      join(root, 'package-lock.json'),
      lockfile.replaceAll('1.0.0', '1.0.1').replaceAll('leaf', 'loaf'),
    )
    const failed = await start(root).ended
    assert.equal(failed.code, 1)
    assert.match(failed.err, /npm ci failed with exit code 1/)
    assert.equal(failed.out, '')
    writeFileSync(join(root, 'package-lock.json'), lockfile)
    assert.equal((await start(root).ended).code, 0)
  })

  test('works through a symbolic link, from anywhere, and mirrors the exit code', async () => {
    const root = makeCheckout('linked', 'process.exit(process.argv.length + 40)')
    const link = join(temp, 'keyrail')
    symlinkSync(join(root, 'bin/keyrail.mjs'), link)
    const { status, stderr } = spawnSync(process.execPath, [link, 'a b', 'c'], { cwd: '/', encoding: 'utf8' })
    assert.equal(status, 44, stderr)
  })
})

test('a start installs no development package; a tool adds them beside a program that runs', async () => {
  const root = makeCheckout('two kinds')
  const packages = join(root, 'node_modules')
  assert.equal((await start(root).ended).code, 0)
  assert.deepEqual([existsSync(join(packages, 'leaf')), existsSync(join(packages, 'tool'))], [true, false])

  cpSync('/bin/sleep', join(packages, 'server'), { dereference: true })
  const user = spawn(join(packages, 'server'), ['60'])
  await once(user, 'spawn')
  const lockfile = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const file = join(root, 'packages/server/src/cli/main.ts')
  const run = env =>
    spawnSync(process.execPath, [join(root, 'bin/node.mjs'), file, 'x'], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    })
  writeFileSync(join(root, 'npm-cli.js'), 'process.exit(3)')
  const failed = run({ npm_execpath: join(root, 'npm-cli.js') })
  assert.match(failed.stderr, /npm install failed with exit code 3/)
  assert.equal((await start(root).ended).err, '', 'a start needs no network after the first')
  const { stdout, stderr } = run()
  assert.equal(stdout, '["x"]\n', stderr)
  assert.match(stderr, /^Adding development packages with npm install \(node_modules\/tool is missing\)/)
  assert.ok(existsSync(join(packages, 'tool')))
  assert.equal(readFileSync(join(root, 'package-lock.json'), 'utf8'), lockfile)
  assert.equal(run().stderr, '')
  assert.equal((await start(root).ended).err, '', 'what a tool needs is enough for a start')
  assert.equal(user.exitCode ?? user.signalCode, null)
  user.kill()
})

describe('signals', () => {
  /** Prints each signal and ends at the second one, so that one that is passed on twice shows. */
  const SERVER = `
    let count = 0
    for (const signal of ['SIGTERM', 'SIGINT'])
      process.on(signal, () => {
        console.log(signal)
        if (++count === 2) setImmediate(() => process.exit(7))
      })
    setInterval(() => {}, 1000)
    console.log('up ' + process.ppid)`

  test('SIGTERM and SIGINT reach the server, and its exit code is passed on', async () => {
    const root = makeCheckout('signals', SERVER)
    for (const signals of [
      ['SIGTERM', 'SIGINT'],
      ['SIGINT', 'SIGTERM'],
    ]) {
      const { child, ended, output } = start(root, [], { detached: true })
      await until(() => output.out.endsWith('\n'))
      child.kill(signals[0])
      await until(() => output.out.includes(signals[0]))
      child.kill(signals[1])
      const end = await ended
      assert.deepEqual([end.code, end.out], [7, `up ${child.pid}\n${signals.join('\n')}\n`])
    }
  })

  test('SIGUSR1 opens no debugger, in the command or the server, and ends neither', async () => {
    const root = makeCheckout('debugged', `${SERVER}\n console.log('pid ' + process.pid)`)
    const { child, ended, output } = start(root)
    await until(() => /pid \d+\n/.test(output.out))
    const server = Number(/pid (\d+)/.exec(output.out)?.[1])
    for (const pid of [child.pid, server]) process.kill(pid, 'SIGUSR1')
    await new Promise(resolve => setTimeout(resolve, 500))
    child.kill('SIGTERM')
    await until(() => output.out.includes('SIGTERM'))
    child.kill('SIGINT')
    const { code, err } = await ended
    assert.equal(code, 7)
    assert.doesNotMatch(err, /debugger/i)
  })

  test('if a signal ends the server, the command ends by the same signal', async () => {
    const root = makeCheckout('killed', "process.kill(process.pid, 'SIGKILL')")
    assert.equal((await start(root).ended).signal, 'SIGKILL')
  })

  test('Ctrl-C at a terminal reaches the server once, and the command waits for its end', async () => {
    const root = makeCheckout('terminal', SERVER)
    // The shell receives the Ctrl-C too; not every shell survives it without a trap.
    const command = `trap : INT; "${process.execPath}" "${join(root, 'bin/keyrail.mjs')}"; echo "ended with $?"`
    // script(1) gives the command its own terminal; what we write to script is typed there.
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, SHELL: '/bin/sh' },
    })
    let seen = ''
    terminal.stdout.setEncoding('utf8').on('data', text => {
      seen += text
    })
    await until(() => /up \d+\r\n/.test(seen))
    terminal.stdin.write('\x03')
    await until(() => seen.includes('SIGINT'))
    // Were the SIGINT passed on as well, it would arrive before this SIGTERM.
    process.kill(Number(/up (\d+)/.exec(seen)?.[1]), 'SIGTERM')
    await once(terminal, 'close')
    assert.match(seen, /\^CSIGINT\r\nSIGTERM\r\nended with 7/)
  })
})
