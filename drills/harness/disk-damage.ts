import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Scope } from '../../packages/sdk/src/feed/record.ts'
import { type Seeded, seeded } from '../../packages/server/test/seeded.ts'
import { type Clocks, faultsOf, holdAt, openCache, pathOf, scope } from './disk-node.ts'

export interface DamageOptions {
  /** Random damages of each random kind, and killed processes. */
  cycles: number
  seed: number
  /** Tries one in this many of the bytes and bits; 1: all. */
  stride?: number
  signal?: AbortSignal
  say?: (line: string) => void
}

/** The results for one kind of damage. */
interface Tried {
  damage: string
  tried: number
  refused: number
  taken: number
}

interface Run {
  cacheDir: string
  at: Clocks
  random: Seeded
  broken: string[]
  tried: Map<string, Tried>
}

const otherProject = '01930c3e-8f5a-7c31-9b0e-00000000c001'
const tenant = '01930c3e-8f5a-7c31-9b0e-00000000a000'

/** @returns the number of tries, and what contradicts the promise. */
export async function runDamage({ cycles, seed, stride = 1, signal, say = () => {} }: DamageOptions) {
  const root = mkdtempSync(join(tmpdir(), 'keyrail-p14-'))
  const run: Run = {
    cacheDir: join(root, 'node', 'cache'),
    at: { wall: Date.now(), monotonic: 5_000, uptime: 1_000_000 },
    random: seeded(seed),
    broken: [],
    tried: new Map(),
  }
  try {
    for (const [name, step] of Object.entries(steps)) {
      if (signal?.aborted) break
      say(name)
      rmSync(dirname(run.cacheDir), { recursive: true, force: true })
      await write(run, 3)
      await step(run, { cycles, stride })
    }
    return { tried: [...run.tried.values()], broken: run.broken }
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

async function write({ cacheDir, at }: Run, version: number): Promise<Buffer> {
  const { cache } = openCache(cacheDir, at)
  await cache.load()
  await cache.close(holdAt(version, at.monotonic))
  return readFileSync(pathOf(cacheDir))
}

interface Expected {
  /** Undefined: the file may be accepted, if every statement in it is true. */
  notice?: 'disk_unusable' | 'disk_file_refused' | 'disk_scope_mismatch'
  /** Whether an accepted store may be served. */
  isServing?: boolean
  reader?: Scope
}

/** Starts a node on the files, and judges what it accepts. */
async function judge(run: Run, damage: string, what: string, expected: Expected): Promise<void> {
  const { notice, isServing = true, reader } = expected
  const entry = run.tried.get(damage) ?? { damage, tried: 0, refused: 0, taken: 0 }
  run.tried.set(damage, entry)
  entry.tried += 1
  const { cache, notices } = openCache(run.cacheDir, run.at, reader)
  try {
    const resumed = await cache.load()
    if (resumed) entry.taken += 1
    else entry.refused += 1
    const faults =
      notice !== undefined && (resumed !== undefined || notices.join() !== notice)
        ? [`was not refused as ${notice} but ${notices.join() || 'taken'}`]
        : resumed
          ? faultsOf(resumed, run.at, isServing)
          : []
    run.broken.push(...faults.map(fault => `${damage}, ${what}: ${fault}`))
  } catch (error) {
    run.broken.push(`${damage}, ${what}: the node threw ${error}`)
  }
}

type Step = (run: Run, options: { cycles: number; stride: number }) => Promise<void>

const refused: Expected = { notice: 'disk_file_refused' }

const steps: Record<string, Step> = {
  async undamaged(run) {
    await judge(run, 'none', 'as it was written', {})
    run.at.wall += 60_000
    run.at.uptime += 60_000
    await judge(run, 'none, a minute old', 'as it was written', { isServing: false })
  },
  async cuts(run, { stride }) {
    const path = pathOf(run.cacheDir)
    const whole = readFileSync(path)
    for (let length = 0; length < whole.length; length += stride) {
      writeFileSync(path, whole.subarray(0, length))
      await judge(run, 'cut off after any byte', `${length} of ${whole.length}`, refused)
    }
  },
  async bits(run, { stride }) {
    const path = pathOf(run.cacheDir)
    const bytes = readFileSync(path)
    for (let bit = 0; bit < bytes.length * 8; bit += stride) {
      const at = bit >> 3
      const turned = Buffer.from(bytes)
      turned[at] = (bytes[at] as number) ^ (1 << (bit & 7))
      writeFileSync(path, turned)
      await judge(run, 'any one bit turned', `bit ${bit}`, refused)
    }
  },
  async blocks(run, { cycles }) {
    const path = pathOf(run.cacheDir)
    const [older, newer] = [await write(run, 4), await write(run, 5)]
    // Before this byte they are alike, and so is a file composed of both.
    const differs = older.findIndex((byte, at) => byte !== newer[at])
    for (let times = 0; times < cycles; times += 1) {
      const at = differs + 1 + run.random.integer(Math.min(older.length, newer.length) - 33 - differs)
      writeFileSync(path, Buffer.concat([newer.subarray(0, at), older.subarray(at)]))
      await judge(run, 'the front of one file, the back of another', `from ${at} on`, refused)
      const zeros = Buffer.from(newer)
      zeros.fill(0, at, Math.min(zeros.length, at + 1 + run.random.integer(512)))
      if (!zeros.equals(newer)) {
        writeFileSync(path, zeros)
        await judge(run, 'a block of zeros', `from ${at} on`, refused)
      }
    }
  },
  async confirmations(run, { stride }) {
    const path = `${pathOf(run.cacheDir)}.confirmed`
    // A minute later it is confirmed again, and only the confirmation is written; then half a minute passes.
    const { cache } = openCache(run.cacheDir, run.at)
    const kept = holdAt(9, run.at.monotonic)
    await cache.load()
    await cache.close(kept)
    pass(run.at, 60_000)
    kept.store.confirm(run.at.monotonic)
    await cache.close(kept)
    pass(run.at, 30_000)
    const note = readFileSync(path)
    await judge(run, 'none, confirmed since', 'as it was written', {})
    for (let bit = 0; bit < note.length * 8; bit += stride) {
      const at = bit >> 3
      const turned = Buffer.from(note)
      turned[at] = (note[at] as number) ^ (1 << (bit & 7))
      writeFileSync(path, turned)
      await judge(run, 'its confirmation, any one bit turned', `bit ${bit}`, { isServing: false })
    }
    for (let length = 0; length < note.length; length += stride) {
      writeFileSync(path, note.subarray(0, length))
      await judge(run, 'its confirmation, cut off after any byte', `${length}`, { isServing: false })
    }
  },
  async readers(run) {
    const readers: [string, Scope, NonNullable<Expected['notice']>][] = [
      ['of another project', { ...scope, projectId: otherProject }, 'disk_file_refused'],
      ['of another environment', { ...scope, env: 'test' }, 'disk_file_refused'],
      ['for other tenants', { ...scope, tenantIds: [tenant] }, 'disk_scope_mismatch'],
    ]
    for (const [what, reader, notice] of readers) {
      // Under the name that its reader looks for.
      const name = `policy-${reader.projectId}-${reader.env}`
      const path = join(run.cacheDir, name)
      if (path !== pathOf(run.cacheDir)) writeFileSync(path, readFileSync(pathOf(run.cacheDir)))
      chmodSync(path, 0o600)
      await judge(run, `written ${what}`, name, { notice, reader })
    }
  },
  async permissions(run) {
    const { cacheDir } = run
    const path = pathOf(cacheDir)
    for (const mode of [0o620, 0o602, 0o666]) {
      chmodSync(path, mode)
      await judge(run, 'a file that others may write to', mode.toString(8), refused)
    }
    chmodSync(path, 0o600)
    for (const mode of [0o720, 0o702, 0o777, 0o1777]) {
      chmodSync(cacheDir, mode)
      await judge(run, 'a directory that others may write to', mode.toString(8), { notice: 'disk_unusable' })
    }
    chmodSync(cacheDir, 0o700)
    renameSync(path, `${path}.real`)
    symlinkSync(`${path}.real`, path)
    await judge(run, 'a symbolic link in its place', 'file', refused)
    rmSync(path)
    mkdirSync(path)
    await judge(run, 'a directory in its place', 'file', refused)
    renameSync(cacheDir, `${cacheDir}-real`)
    symlinkSync(`${cacheDir}-real`, cacheDir)
    await judge(run, 'a symbolic link in its place', 'directory', { notice: 'disk_unusable' })
    rmSync(cacheDir)
    writeFileSync(cacheDir, '')
    await judge(run, 'a file in the place of the directory', 'directory', { notice: 'disk_unusable' })
  },
  async kills(run, { cycles }) {
    const script = fileURLToPath(new URL('disk-writer.ts', import.meta.url))
    for (let times = 0; times < cycles; times += 1) {
      rmSync(run.cacheDir, { recursive: true, force: true })
      const child = spawn(process.execPath, [script, run.cacheDir], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(child.stdout, 'data')
      await sleep(run.random.integer(60))
      child.kill('SIGKILL')
      await once(child, 'close')
      if (!existsSync(pathOf(run.cacheDir))) run.broken.push('killed while it writes: the file is gone')
      run.at.wall = Date.now()
      run.at.uptime = 1_000_000
      await judge(run, 'killed while it writes', `${times}`, {})
    }
    const killed = run.tried.get('killed while it writes')
    if (killed && killed.refused > 0)
      run.broken.push(`killed while it writes: ${killed.refused} files refused`)
  },
}

function pass(at: Clocks, ms: number): void {
  at.wall += ms
  at.monotonic += ms
  at.uptime += ms
}
