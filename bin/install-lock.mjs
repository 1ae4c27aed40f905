import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { startOf } from './processes.mjs'

const LOOK_EVERY_MS = 200
/**
 * Clearing a stale lock takes microseconds; a process that holds this directory for longer was killed while clearing.
 */
const CLEARING_MS_MAX = 10_000

/**
 * Takes a lock between processes: a file that names its holder. Waits while the holder lives.
 * A killed holder may leave the file behind. One waiting process then removes it: it creates a directory to work alone,
 * and looks again first, so that no process removes a lock that another has just taken.
 *
 * @param {string} path the lock's file
 * @param {{ onWait?: (pid: number) => void }} options `onWait` is called once, with the holder's pid
 * @returns {Promise<{ include(pid: number): void, release(): void }>} `include`: the lock is held for as long as
 *   that process lives too
 */
export async function takeLock(path, { onWait } = {}) {
  for (let waiting = false; ; ) {
    if (claim(path)) return heldLock(path)
    const holder = readHolder(path)
    if (holder?.alive === false) clearStale(path)
    if (holder?.alive && !waiting) {
      waiting = true
      onWait?.(holder.pid)
    }
    await sleep(holder?.alive ? LOOK_EVERY_MS : 10)
  }
}

function heldLock(path) {
  return {
    include(pid) {
      const next = `${path}.${process.pid}`
      writeFileSync(next, describe([process.pid, pid]))
      renameSync(next, path)
    },
    release() {
      rmSync(path, { force: true })
    },
  }
}

/** A link appears whole or not at all, so no process reads a lock without its holder. */
function claim(path) {
  const draft = `${path}.${process.pid}`
  try {
    writeFileSync(draft, describe([process.pid]))
    linkSync(draft, path)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(draft, { force: true })
  }
}

function describe(pids) {
  return `${JSON.stringify(pids.map(pid => ({ pid, start: startOf(pid) })))}\n`
}

function readHolder(path) {
  let holders
  try {
    holders = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    // Released a moment ago, or without a valid holder: then the lock is free.
    return error.code === 'ENOENT' ? undefined : { pid: 0, alive: false }
  }
  const alive = holders.find(({ pid, start }) => start !== undefined && startOf(pid) === start)
  return { pid: alive?.pid ?? 0, alive: alive !== undefined }
}

function clearStale(path) {
  const clearing = `${path}.clearing`
  try {
    mkdirSync(clearing)
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    const age = Date.now() - (statSync(clearing, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (age > CLEARING_MS_MAX) rmSync(clearing, { recursive: true, force: true })
    return
  }
  try {
    if (readHolder(path)?.alive === false) rmSync(path, { force: true })
  } finally {
    rmdirSync(clearing)
  }
}
