import { createHash } from 'node:crypto'
import { uptime } from 'node:os'
import { join } from 'node:path'
import type { Kept, SyncSettings } from '../feed/sync-deps.ts'
import type { Clock } from '../runtime/clock.ts'
import { pause } from '../runtime/pause.ts'
import type { Notice } from '../runtime/reports.ts'
import type { Store } from '../store/store.ts'
import { fileName, openDirectory, readWhole, removeLeftovers, writeWhole } from './files.ts'
import { decodeSnapshot, encodeSnapshot, type Loaded, type SnapshotFacts } from './snapshot-file.ts'

/** Between two writings of all keys; more where they are many, since it takes a millisecond for every 10,000. */
const KEYS_EVERY_MS = 5_000
const keysEveryMs = (keys: number): number => Math.max(KEYS_EVERY_MS, keys / 10)
/** Between two notes of a confirmation, which are a hundred bytes. */
const CONFIRMED_EVERY_MS = 5_000

/** A disk that hangs, as one of a network may, keeps nobody waiting for longer. */
const DISK_MAX_MS = 10_000

export interface DiskCacheDeps {
  settings: Omit<SyncSettings, 'node'> & {
    cacheDir: string
  }
  clock: Clock
  /** Milliseconds since the machine was started; no step of its clock moves it. */
  uptimeMs?: (() => number) | undefined
  /** The service's time at a reading of the clock; undefined where it has told none. */
  serviceTime: (monotonic: number) => number | undefined
  notice: (notice: Notice) => void
  /** How long the disk may take, 10 s unless given. */
  diskMaxMs?: number | undefined
}

/** A store that an earlier process left, confirmed on this process's clock; or at no time that is good for serving. */
export type Resumed = Kept & { isFresh: boolean; serviceNow: number }

/**
 * The disk snapshot of one node: written after polls, whole, at most every few seconds. Between changes only the time
 * of the last confirmation is, in a file beside it that names the snapshot by its sum. It never fails: what goes
 * wrong is told, and the node goes on without.
 */
export class DiskCache {
  readonly #deps: DiskCacheDeps
  readonly #uptimeMs: () => number
  readonly #name: string
  readonly #maxMs: number
  /** The disk hung: it is used no more, and nothing more is told of it. */
  #isGivenUp = false
  /** Undefined until it was found fit for use. */
  #directory: string | undefined
  #hasFailed = false
  #writing: Promise<void> | undefined
  /** What the snapshot on disk has, while this process knows it. */
  #onDisk: { store: Store; revision: number; sum: string } | undefined
  #keysAt = Number.NEGATIVE_INFINITY
  #confirmedAt = Number.NEGATIVE_INFINITY
  #confirmedThen = Number.NEGATIVE_INFINITY

  constructor(deps: DiskCacheDeps) {
    this.#deps = deps
    this.#uptimeMs = deps.uptimeMs ?? (() => uptime() * 1_000)
    this.#maxMs = deps.diskMaxMs ?? DISK_MAX_MS
    this.#name = fileName(deps.settings.scope)
  }

  /** Opens the directory and takes up what an earlier process left. Undefined: a cold start. */
  async load(): Promise<Resumed | undefined> {
    const loaded = await this.#inTime(this.#load())
    if (loaded !== 'late') return loaded
    this.#tell('disk_unusable', `cacheDir is not used: the disk has not answered for ${this.#maxMs} ms`)
    this.#isGivenUp = true
    return undefined
  }

  async #load(): Promise<Resumed | undefined> {
    const { settings, clock } = this.#deps
    let directory: string
    try {
      directory = await openDirectory(settings.cacheDir)
      await removeLeftovers(directory, this.#name, clock.wall())
      this.#directory = directory
    } catch (error) {
      this.#tell('disk_unusable', `cacheDir is not used: ${reasonOf(error)}`)
      return undefined
    }
    try {
      return await this.#read(join(directory, this.#name))
    } catch (error) {
      this.#tell('disk_file_refused', `The disk snapshot is not used: ${reasonOf(error)}`)
      return undefined
    }
  }

  /** To be called after a poll that went well. Returns before anything is written. */
  keep(kept: Kept): void {
    if (!this.#directory || this.#isGivenUp || this.#writing) return
    const now = this.#deps.clock.monotonic()
    const isChanged = this.#isChanged(kept)
    const last = isChanged ? this.#keysAt : this.#confirmedAt
    if (now - last < (isChanged ? keysEveryMs(kept.store.size) : CONFIRMED_EVERY_MS)) return
    this.#start(kept, this.#directory)
  }

  /** Writes what is not written yet, and waits for it. */
  async close(kept: Kept | undefined): Promise<void> {
    if (this.#isGivenUp) return
    if ((await this.#inTime(this.#finish(kept))) !== 'late') return
    this.#tell('disk_write_failed', `The disk snapshot: the disk has not answered for ${this.#maxMs} ms`)
    this.#isGivenUp = true
  }

  async #finish(kept: Kept | undefined): Promise<void> {
    await this.#writing
    if (!this.#directory || !kept || this.#isGivenUp) return
    if (this.#isChanged(kept) || kept.store.confirmedAt > this.#confirmedThen)
      this.#start(kept, this.#directory)
    await this.#writing
  }

  /** Whatever becomes of work that is late, nobody waits for it. */
  async #inTime<T>(work: Promise<T>): Promise<T | 'late'> {
    const over = new AbortController()
    const late = pause(this.#maxMs, over.signal).then(() => 'late' as const)
    return await Promise.race([work, late]).finally(() => over.abort())
  }

  async #read(path: string): Promise<Resumed | undefined> {
    const { settings, clock } = this.#deps
    const file = await readWhole(path)
    if (file === undefined) return undefined
    const mostKeys = Math.max(settings.maxCachedKeys, settings.maxAutoCachedKeys)
    const loaded = decodeSnapshot(file, settings.scope, mostKeys)
    if ('refused' in loaded) {
      const code = loaded.refused === 'scope' ? 'disk_scope_mismatch' : 'disk_file_refused'
      this.#tell(code, `The disk snapshot is not used: ${loaded.why}`)
      return undefined
    }
    const { store, version, workspaceId, isWhole, features, sum } = loaded
    store.maxKeys = Math.max(settings.maxCachedKeys, store.size)
    this.#onDisk = { store, revision: store.revision, sum }
    const { ageMs, serviceNow } = await this.#ageOf(loaded, `${path}.confirmed`)
    const isFresh = ageMs < settings.cachedTtlMs
    if (isFresh) store.confirm(clock.monotonic() - ageMs)
    return { store, version, workspaceId, isWhole, features, isFresh, serviceNow }
  }

  /** How long ago the snapshot was confirmed, by whichever of its two notes is the later, and the service's time now. */
  async #ageOf(loaded: Loaded, path: string): Promise<Age> {
    const note = await readWhole(path).catch(() => undefined)
    const confirmed = note && readConfirmation(Buffer.from(note).toString(), loaded.sum)
    const ages = [loaded, ...(confirmed ? [confirmed] : [])].map(facts => this.#age(facts))
    return ages.reduce((one, other) => (other.ageMs < one.ageMs ? other : one))
  }

  /**
   * By two clocks, and the longer of both times counts: the wall clock may have been set back meanwhile, and the one
   * that counts from the start of the machine may have begun anew. A time to come is no time, and neither is one
   * of which nobody knows what time the service had: expiry could not be judged.
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
    this.#writing = this.#write(kept, directory)
      .then(
        () => {
          this.#hasFailed = false
        },
        error => {
          // A disk that is full for an hour is told of once.
          if (!this.#hasFailed) this.#tell('disk_write_failed', `The disk snapshot: ${reasonOf(error)}`)
          this.#hasFailed = true
        },
      )
      .finally(() => {
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
      this.#onDisk = { store, revision, sum: bytes.toString('hex', bytes.length - 32) }
    } else if (this.#onDisk) {
      const note = writeConfirmation(times, this.#onDisk.sum)
      await writeWhole(directory, `${this.#name}.confirmed`, Buffer.from(note))
    }
    this.#confirmedThen = confirmedAt
  }

  #tell(code: Notice['code'], message: string): void {
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

/** Undefined for what is damaged, or about another snapshot: then the snapshot is as old as it says itself. */
function readConfirmation(note: string, of: string): Times | undefined {
  const [facts = '', sum] = note.split('\n')
  if (sumOf(facts) !== sum) return undefined
  const { of: about, confirmed_at, uptime_ms, service_at } = JSON.parse(facts)
  if (about !== of) return undefined
  return { confirmedWall: confirmed_at, confirmedUptime: uptime_ms, confirmedService: service_at }
}

const sumOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Texts of the system name paths, which are no secret, and nothing else of ours. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown')
