/** Keeps a copy for the next start. `snapshot-file.ts` has the bytes, and only `files.ts` touches the disk. */

import { createHash } from 'node:crypto'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { quotaKeys } from '../feed/quota.ts'
import type { Kept, SyncSettings } from '../feed/sync-deps.ts'
import type { Clock } from '../runtime/clock.ts'
import { pause } from '../runtime/pause.ts'
import type { Notice } from '../runtime/reports.ts'
import type { Store } from '../store/store.ts'
import { fileName, openDirectory, readWhole, removeLeftovers, writeWhole } from './files.ts'
import { decodeSnapshot, encodeSnapshot, type Loaded, type SnapshotFacts } from './snapshot-file.ts'

/** At least this long between two writes of all keys. Longer for many keys: a write takes 1 ms for every 10,000. */
const KEYS_EVERY_MS = 5_000
const keysEveryMs = (keys: number): number => Math.max(KEYS_EVERY_MS, keys / 10)
/** Between two confirmation notes, which have a hundred bytes. */
const CONFIRMED_EVERY_MS = 5_000

/** Between two attempts to open a directory that could not be used. */
const RETRY_MS = 600_000

/** How long a caller waits for a disk that hangs, such as a network disk. */
const DISK_MAX_MS = 10_000

export interface DiskCacheDeps {
  settings: Omit<SyncSettings, 'node'> & {
    cacheDir: string
  }
  clock: Clock
  /** Milliseconds since the machine started. Setting the wall clock does not change it. */
  uptimeMs?: (() => number) | undefined
  /** The service's time at a reading of the monotonic clock; undefined if unknown. */
  serviceTime: (monotonic: number) => number | undefined
  notice: (notice: Notice) => void
  /** Time limit for the disk in ms, 10,000 by default. */
  diskMaxMs?: number | undefined
}

/** A store that an earlier process left. If `isFresh`, it is confirmed on this process's clock and can be served. */
export type Resumed = Kept & { isFresh: boolean; serviceNow: number }

/**
 * The disk snapshot of a project and scope, written whole after polls, every few seconds at most. If only the confirmation
 * time has changed, a small note beside it records that. The note names the version, so that of several processes with one
 * directory any may write the snapshot, any the note, and any read both. No method fails: the node reports an error as a
 * notice and continues without the disk.
 */
export class DiskCache {
  readonly #deps: DiskCacheDeps
  readonly #uptimeMs: () => number
  readonly #name: string
  readonly #maxMs: number
  /** The disk hung: do not use it any more, and report nothing further. */
  #isGivenUp = false
  /** Undefined until the directory was opened and checked. */
  #directory: string | undefined
  #openedAt = Number.NEGATIVE_INFINITY
  #hasFailed = false
  #writing: Promise<void> | undefined
  /** What this process has read from the disk or written to it last. */
  #onDisk: { store: Store; revision: number } | undefined
  #keysAt = Number.NEGATIVE_INFINITY
  #confirmedAt = Number.NEGATIVE_INFINITY
  #confirmedThen = Number.NEGATIVE_INFINITY

  constructor(deps: DiskCacheDeps) {
    this.#deps = deps
    this.#uptimeMs = deps.uptimeMs ?? (() => uptime() * 1_000)
    this.#maxMs = deps.diskMaxMs ?? DISK_MAX_MS
    this.#name = fileName(deps.settings.scope)
  }

  /** Opens the directory and reads what an earlier process left. Undefined: a cold start. */
  async load(): Promise<Resumed | undefined> {
    const loaded = await this.#inTime(this.#load())
    if (loaded !== 'late') return loaded
    this.#notify('disk_unusable', `cacheDir is not used: the disk has not answered for ${this.#maxMs} ms`)
    this.#isGivenUp = true
    return undefined
  }

  async #load(): Promise<Resumed | undefined> {
    let directory: string
    try {
      directory = await this.#open()
    } catch (error) {
      this.#notify('disk_unusable', `cacheDir is not used: ${reasonOf(error)}`)
      return undefined
    }
    try {
      return await this.#read(join(directory, this.#name))
    } catch (error) {
      this.#notify('disk_file_refused', `The disk snapshot is not used: ${reasonOf(error)}`)
      return undefined
    }
  }

  async #open(): Promise<string> {
    const { settings, clock } = this.#deps
    this.#openedAt = clock.monotonic()
    const directory = await openDirectory(settings.cacheDir)
    await removeLeftovers(directory, this.#name, clock.wall())
    this.#directory = directory
    return directory
  }

  /** Call it after a successful poll. Returns before anything is written. */
  keep(kept: Kept): void {
    if (this.#isGivenUp || this.#writing) return
    const now = this.#deps.clock.monotonic()
    if (!this.#directory) {
      if (now - this.#openedAt >= RETRY_MS) this.#run(this.#open())
      return
    }
    const isChanged = this.#isChanged(kept)
    const last = isChanged ? this.#keysAt : this.#confirmedAt
    if (now - last < (isChanged ? keysEveryMs(kept.store.size) : CONFIRMED_EVERY_MS)) return
    this.#start(kept, this.#directory)
  }

  /** Writes what is not yet written, and waits for it. */
  async close(kept: Kept | undefined): Promise<void> {
    if (this.#isGivenUp) return
    if ((await this.#inTime(this.#finish(kept))) !== 'late') return
    this.#notify(
      'disk_write_failed',
      `The disk snapshot was not written: the disk has not answered for ${this.#maxMs} ms`,
    )
    this.#isGivenUp = true
  }

  async #finish(kept: Kept | undefined): Promise<void> {
    await this.#writing
    if (!this.#directory || !kept || this.#isGivenUp) return
    if (this.#isChanged(kept) || kept.store.confirmedAt > this.#confirmedThen)
      this.#start(kept, this.#directory)
    await this.#writing
  }

  /** Stops waiting after the time limit; the work itself continues. */
  async #inTime<T>(work: Promise<T>): Promise<T | 'late'> {
    const over = new AbortController()
    const late = pause(this.#maxMs, over.signal).then(() => 'late' as const)
    return await Promise.race([work, late]).finally(() => over.abort())
  }

  async #read(path: string): Promise<Resumed | undefined> {
    const { settings, clock } = this.#deps
    const file = await readWhole(path)
    if (file === undefined) return undefined
    const loaded = decodeSnapshot(file, settings.scope, quotaKeys(settings))
    if ('refused' in loaded) {
      const code = loaded.refused === 'scope' ? 'disk_scope_mismatch' : 'disk_file_refused'
      this.#notify(code, `The disk snapshot is not used: ${loaded.why}`)
      return undefined
    }
    const { store, version, workspaceId, isWhole, features } = loaded
    store.maxKeys = Math.max(settings.maxCachedKeys, store.size)
    this.#onDisk = { store, revision: store.revision }
    const { ageMs, serviceNow } = await this.#ageOf(loaded, `${path}.confirmed`)
    const isFresh = ageMs < settings.cachedTtlMs
    if (isFresh) store.confirm(clock.monotonic() - ageMs)
    return { store, version, workspaceId, isWhole, features, isFresh, serviceNow }
  }

  /** How long ago the snapshot was confirmed, by the later of its two records, and the service's time now. */
  async #ageOf(loaded: Loaded, path: string): Promise<Age> {
    const confirmed = await readNote(path, this.#subjectOf(loaded))
    const ages = [loaded, ...(confirmed ? [confirmed] : [])].map(facts => this.#age(facts))
    return ages.reduce((one, other) => (other.ageMs < one.ageMs ? other : one))
  }

  /**
   * Takes the longer age by two clocks: the wall clock may have been set back since, and the uptime starts again with the
   * machine. A confirmation in the future is invalid, and so is one without the service's time, because expiry cannot be
   * checked then.
   */
  #age({ confirmedWall, confirmedUptime, confirmedService = Number.NaN }: Times): Age {
    const byWall = this.#deps.clock.wall() - confirmedWall
    const ageMs = Math.max(byWall, this.#uptimeMs() - confirmedUptime)
    const serviceNow = confirmedService + ageMs
    return byWall >= 0 && Number.isFinite(serviceNow) ? { ageMs, serviceNow } : ageless
  }

  #isChanged({ store }: Kept): boolean {
    return this.#onDisk?.store !== store || this.#onDisk.revision !== store.revision
  }

  #start(kept: Kept, directory: string): void {
    const written = this.#write(kept, directory).then(
      () => {
        this.#hasFailed = false
      },
      error => {
        // Reported once, even if the disk is full for an hour.
        if (!this.#hasFailed)
          this.#notify('disk_write_failed', `The disk snapshot was not written: ${reasonOf(error)}`)
        this.#hasFailed = true
      },
    )
    this.#run(written)
  }

  /** What fails here was reported before. */
  #run(work: Promise<unknown>): void {
    this.#writing = work
      .catch(() => {})
      .then(() => {
        this.#writing = undefined
      })
  }

  async #write(kept: Kept, directory: string): Promise<void> {
    const { settings, clock } = this.#deps
    const { store } = kept
    const now = clock.monotonic()
    const ageMs = now - store.confirmedAt
    const { confirmedAt } = store
    const times = {
      confirmedWall: clock.wall() - ageMs,
      confirmedUptime: this.#uptimeMs() - ageMs,
      confirmedService: this.#deps.serviceTime(confirmedAt),
    }
    this.#confirmedAt = now
    if (this.#isChanged(kept)) {
      this.#keysAt = now
      const { revision } = store
      const bytes = encodeSnapshot(store, settings.scope, { ...kept, ...times }, kept.isWhole)
      this.#onDisk = undefined
      await writeWhole(directory, this.#name, bytes)
      this.#onDisk = { store, revision }
    } else if (this.#onDisk) {
      const name = `${this.#name}.confirmed`
      const subject = this.#subjectOf(kept)
      const last = await readNote(join(directory, name), subject)
      // Another process may have noted a later confirmation, but none in the future.
      const isLater = last && last.confirmedWall > times.confirmedWall && last.confirmedWall <= clock.wall()
      if (!isLater) await writeWhole(directory, name, Buffer.from(writeConfirmation(times, subject)))
    }
    this.#confirmedThen = confirmedAt
  }

  /** What a note confirms: all keys of a version in a scope. Versions do not come twice, even after a restored backup. */
  #subjectOf({ workspaceId, version }: Pick<Kept, 'workspaceId' | 'version'>): string {
    const { projectId, env, tenantIds, features = [], service } = this.#deps.settings.scope
    return sumOf(JSON.stringify([workspaceId, projectId, env, tenantIds, features, version, service]))
  }

  #notify(code: Notice['code'], message: string): void {
    if (!this.#isGivenUp) this.#deps.notice({ code, message })
  }
}

type Times = Pick<SnapshotFacts, 'confirmedWall' | 'confirmedUptime' | 'confirmedService'>

interface Age {
  ageMs: number
  serviceNow: number
}
const ageless: Age = { ageMs: Number.POSITIVE_INFINITY, serviceNow: Number.NaN }

function writeConfirmation({ confirmedWall, confirmedUptime, confirmedService }: Times, of: string): string {
  const times = { confirmed_at: confirmedWall, uptime_ms: confirmedUptime, service_at: confirmedService }
  const facts = JSON.stringify({ of, ...times })
  return `${facts}\n${sumOf(facts)}`
}

/** Undefined if the note is absent, damaged or about another snapshot: then the snapshot's own time counts. */
async function readNote(path: string, of: string): Promise<Times | undefined> {
  const note = await readWhole(path).catch(() => undefined)
  if (note === undefined) return undefined
  const [facts = '', sum] = Buffer.from(note).toString().split('\n')
  if (sumOf(facts) !== sum) return undefined
  const { of: about, confirmed_at, uptime_ms, service_at } = JSON.parse(facts)
  if (about !== of) return undefined
  return { confirmedWall: confirmed_at, confirmedUptime: uptime_ms, confirmedService: service_at }
}

const sumOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Messages of the system contain paths, which are not secret, and nothing else of ours. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown')
