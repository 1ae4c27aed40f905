import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { isInForeground } from './processes.mjs'
import { ensureInstalled, nodePath, ROOT, StartRefused } from './runtime.mjs'

/**
 * Replaces this process with Keyrail's Node running a file: same streams, same signals, same exit.
 *
 * @param {string} file @param {string[]} args @param {{ dev: boolean }} options
 */
export async function runInPlace(file, args, { dev }) {
  let node
  try {
    await ensureInstalled({ dev })
    node = nodePath()
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
    return
  }
  // The published SDK is built; in the checkout its sources run as they are. SIGUSR1 opens a debugger, which reads all secrets.
  const child = spawn(node, ['--disable-sigusr1', '--conditions=keyrail-source', file, ...args], {
    stdio: 'inherit',
    // The compile cache: a restart takes two thirds of the time.
    env: { NODE_COMPILE_CACHE: join(ROOT, 'node_modules', '.cache', 'node'), ...process.env },
  })
  const listeners = passSignals(child)
  child.once('error', error => {
    process.stderr.write(`${node} could not be run: ${error.message}\n`)
    process.exitCode = 1
  })
  child.once('exit', (code, signal) => {
    for (const [name, listener] of listeners) process.off(name, listener)
    if (signal) process.kill(process.pid, signal)
    else process.exitCode = code ?? 1
  })
}

/**
 * A key pressed at the terminal reaches the whole process group. The child already has the signal, and a second one
 * could mean "at once" to it. A signal sent to us alone is passed on.
 */
function passSignals(child) {
  const pass = signal => child.kill(signal)
  const passUnlessTyped = signal => {
    if (!isInForeground()) child.kill(signal)
  }
  const listeners = [
    ['SIGINT', passUnlessTyped],
    ['SIGQUIT', passUnlessTyped],
    ['SIGTERM', pass],
    ['SIGHUP', pass],
    ['SIGUSR2', pass],
    // Without a listener it would open the debugger of this process, whose environment has the same secrets.
    ['SIGUSR1', () => {}],
  ]
  for (const [name, listener] of listeners) process.on(name, listener)
  return listeners
}
