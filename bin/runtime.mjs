import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { takeLock } from './install-lock.mjs'
import { findDisagreements } from './lockfile.mjs'
import { runningOutOf } from './processes.mjs'

/** The checkout. Node resolves symbolic links in a module's path, so the command works through a link. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

const NODE_MAJOR_MIN = 24
/** The program loader that the Node from the lockfile needs; a system with another C library does not have it. */
const LOADERS = { x64: '/lib64/ld-linux-x86-64.so.2', arm64: '/lib/ld-linux-aarch64.so.1' }

/** A problem that the user can fix: they see its message and nothing else. */
export class StartRefused extends Error {}

/**
 * Makes `node_modules` match `package-lock.json`, with npm if needed. Two starts at the same moment install once; an
 * interrupted installation is repeated.
 *
 * @param {{ root?: string, dev?: boolean }} options `dev`: the development packages are needed too. A start of the service
 *   installs none; they are added beside a service that runs
 * @throws {StartRefused} when a process still runs out of node_modules, or npm failed
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
      `The packages must be installed (${summary(faults)}), but this account cannot write to ${root}: ${error.message}`,
    )
  }
}

async function install(root, { dev, faults, lock }) {
  // Then only development packages are missing.
  const adds = dev && findDisagreements(root, { dev: false }).length === 0
  if (!adds) refuseWhileInUse(join(root, 'node_modules'))
  const command = adds ? 'npm install' : 'npm ci'
  tell(`${adds ? 'Adding development' : 'Installing'} packages with ${command} (${summary(faults)}) …`)
  const began = performance.now()
  // npm ci first empties node_modules, in no fixed order; without this file an installation was interrupted.
  const listed = join(root, 'node_modules', '.package-lock.json')
  const before = adds ? readFileSync(listed) : undefined
  rmSync(listed, { force: true })
  // npm install leaves what is there, and with --no-save the lockfile.
  const args = [...(adds ? ['install', '--no-save'] : ['ci']), dev ? '--include=dev' : '--omit=dev']
  const { code, signal } = await npm(root, args, lock)
  if (signal) throw new StartRefused(`${command} was ended by ${signal}. The next start tries again.`)
  // npm has taken back what it added, so the service still starts.
  if (code !== 0 && before) writeFileSync(listed, before)
  if (code !== 0)
    throw new StartRefused(`${command} failed with exit code ${code}. The next start tries again.`)
  const left = findDisagreements(root, { dev })
  if (left.length > 0) throw new StartRefused(`${command} reported success, but ${summary(left)}.`)
  tell(`Installed in ${((performance.now() - began) / 1000).toFixed(1)} s.`)
}

/** Removing the files of a running server would break it later. */
export function refuseWhileInUse(nodeModules) {
  const users = runningOutOf(nodeModules)
  if (users.length === 0) return
  const list = users.map(({ pid, executable }) => `  ${pid}  ${executable}`).join('\n')
  throw new StartRefused(
    `The packages must be reinstalled, but these processes still run out of ${nodeModules}:\n${list}\n` +
      `Stop them first (kill -INT ${users.map(({ pid }) => pid).join(' ')}), then start again.`,
  )
}

async function npm(root, [name, ...options], lock) {
  const args = [name, ...options, '--loglevel=error', '--no-audit', '--no-fund', '--ignore-scripts']
  const cli = process.env.npm_execpath
  const byNode = cli !== undefined && /npm-cli\.[cm]?js$/.test(cli)
  const command = byNode ? (process.env.npm_node_execpath ?? process.execPath) : 'npm'
  // Standard output belongs to the command that follows.
  const child = spawn(command, byNode ? [cli, ...args] : args, {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const forward = signal => child.kill(signal)
  // npm receives a Ctrl-C directly; we wait for it to end, and then release the lock.
  const stay = () => {}
  process.on('SIGINT', stay).on('SIGTERM', forward).on('SIGHUP', forward)
  try {
    if (child.pid !== undefined) lock.include(child.pid)
    return await ended
  } catch (error) {
    throw new StartRefused(`npm could not be run: ${error.message}`)
  } finally {
    process.off('SIGINT', stay).off('SIGTERM', forward).off('SIGHUP', forward)
  }
}

/**
 * The Node that runs Keyrail, called by its path: the one from the lockfile, or else the one that runs this process.
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
    `Keyrail needs Node >= ${NODE_MAJOR_MIN}; this is Node ${own.version}. On Linux with glibc (x64, arm64) npm ci installs ` +
      'the right one; elsewhere install it from https://nodejs.org/en/download or with your package manager.',
  )
}

function summary(faults) {
  const [first, ...rest] = faults
  return rest.length === 0 ? first : `${first}, and ${rest.length} more`
}

function tell(text) {
  process.stderr.write(`${text}\n`)
}
