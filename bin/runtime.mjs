import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { takeLock } from './install-lock.mjs'
import { findDisagreements } from './lockfile.mjs'
import { runningOutOf } from './processes.mjs'

/** The checkout. Node gives the real path of a module, so a symbolic link to the command does not mislead. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

const NODE_MAJOR_MIN = 24
/** The program loader that the Node from the lockfile asks for; a system with another C library has none. */
const LOADERS = { x64: '/lib64/ld-linux-x86-64.so.2', arm64: '/lib/ld-linux-aarch64.so.1' }

/** A problem the person can act on: its message is all they should see. */
export class StartRefused extends Error {}

/**
 * Makes `node_modules` agree with `package-lock.json`, with `npm ci` when it does not. Two starts at the same
 * moment install once; one that was broken off is done again.
 *
 * @param {{ root?: string, dev?: boolean }} options `dev`: the development packages are needed too
 * @throws {StartRefused} when something still runs out of node_modules, or npm failed
 */
export async function ensureInstalled({ root = ROOT, dev = false } = {}) {
  const faults = findDisagreements(root, { dev })
  if (faults.length === 0) return
  const lock = await lockInstall(root, faults)
  try {
    const left = findDisagreements(root, { dev })
    if (left.length > 0) await install(root, { dev, faults: left, lock })
  } finally {
    lock.release()
  }
}

async function lockInstall(root, faults) {
  try {
    return await takeLock(join(root, '.install-lock'), {
      onWait: pid => tell(`Waiting for process ${pid}, which is installing the packages of this checkout.`),
    })
  } catch (error) {
    throw new StartRefused(
      `The packages must be installed (${summary(faults)}), but ${root} is not ours to write to: ${error.message}`,
    )
  }
}

async function install(root, { dev, faults, lock }) {
  refuseWhileInUse(join(root, 'node_modules'))
  tell(`Installing packages with npm ci (${summary(faults)}) …`)
  const began = performance.now()
  // npm ci empties node_modules first and in no order; without this file a broken-off one shows.
  rmSync(join(root, 'node_modules', '.package-lock.json'), { force: true })
  const { code, signal } = await npmCi(root, { dev, lock })
  if (signal) throw new StartRefused(`npm ci was ended by ${signal}. The next start does it again.`)
  if (code !== 0)
    throw new StartRefused(`npm ci failed with exit code ${code}. The next start does it again.`)
  const left = findDisagreements(root, { dev })
  if (left.length > 0) throw new StartRefused(`npm ci reported success, but ${summary(left)}.`)
  tell(`Installed in ${((performance.now() - began) / 1000).toFixed(1)} s.`)
}

/** Taking the files away under a running server would break it at some later moment. */
export function refuseWhileInUse(nodeModules) {
  const users = runningOutOf(nodeModules)
  if (users.length === 0) return
  const list = users.map(({ pid, executable }) => `  ${pid}  ${executable}`).join('\n')
  throw new StartRefused(
    `The packages must be installed anew, but these processes still run out of ${nodeModules}:\n${list}\n` +
      `Stop them first (kill -INT ${users.map(({ pid }) => pid).join(' ')}), then start again.`,
  )
}

async function npmCi(root, { dev, lock }) {
  const args = ['ci', '--loglevel=error', '--no-audit', '--no-fund', '--ignore-scripts']
  if (dev) args.push('--include=dev')
  const cli = process.env.npm_execpath
  const byNode = cli !== undefined && /npm-cli\.[cm]?js$/.test(cli)
  const command = byNode ? (process.env.npm_node_execpath ?? process.execPath) : 'npm'
  // Our standard output belongs to the command that follows.
  const npm = spawn(command, byNode ? [cli, ...args] : args, {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = new Promise((resolve, reject) => {
    npm.once('error', reject)
    npm.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const forward = signal => npm.kill(signal)
  // A Ctrl-C reaches npm by itself; we stay until it has gone, and then give the lock back.
  const stay = () => {}
  process.on('SIGINT', stay).on('SIGTERM', forward).on('SIGHUP', forward)
  try {
    if (npm.pid !== undefined) lock.include(npm.pid)
    return await ended
  } catch (error) {
    throw new StartRefused(`npm could not be run: ${error.message}`)
  } finally {
    process.off('SIGINT', stay).off('SIGTERM', forward).off('SIGHUP', forward)
  }
}

/**
 * The Node that runs Keyrail, called by its path: the one from the lockfile, else the one that runs us.
 *
 * @throws {StartRefused} when neither is new enough
 */
export function nodePath({
  root = ROOT,
  own = { path: process.execPath, version: process.versions.node },
} = {}) {
  const locked = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')
  const loader = LOADERS[process.arch]
  if (existsSync(locked) && loader && existsSync(loader)) return locked
  if (Number.parseInt(own.version, 10) >= NODE_MAJOR_MIN) return own.path
  throw new StartRefused(
    `Keyrail needs Node >= ${NODE_MAJOR_MIN}; this is Node ${own.version}. On Linux with glibc (x64, arm64) npm ci brings ` +
      'the right one along; elsewhere install it from https://nodejs.org/en/download or with your package manager.',
  )
}

function summary(faults) {
  const [first, ...rest] = faults
  return rest.length === 0 ? first : `${first}, and ${rest.length} more`
}

function tell(text) {
  process.stderr.write(`${text}\n`)
}
