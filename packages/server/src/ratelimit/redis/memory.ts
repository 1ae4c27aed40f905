import type { Link } from './link.ts'

/** The memory of one server. */
export interface ServerMemory {
  readonly place: string
  /** `maxmemory` in bytes; null: not set. */
  readonly most: number | null
  readonly used: number
}

/** How full the fullest server is. */
export interface Fullest {
  readonly most: number
  readonly usedPart: number
}

/** @returns null where no server has a `maxmemory`. */
export function fullestOf(servers: readonly ServerMemory[]): Fullest | null {
  let fullest: Fullest | null = null
  for (const { most, used } of servers) {
    if (most === null) continue
    const usedPart = used / most
    if (fullest === null || usedPart > fullest.usedPart) fullest = { most, usedPart }
  }
  return fullest
}

/** How often the memory of the servers is read: once half of it is used, it may soon be full. */
const restMs = 30_000
const busyMs = 1_000
const busyPart = 1 / 2

/** Reads the memory of all servers at intervals, and when a caller asks for it. */
export class MemoryWatch {
  readonly #link: Pick<Link, 'masters'>
  readonly #report: (servers: readonly ServerMemory[]) => void
  #timer: NodeJS.Timeout | undefined
  #reading: Promise<number | null> | null = null
  #isClosed = false

  constructor(link: Pick<Link, 'masters'>, report: (servers: readonly ServerMemory[]) => void) {
    this.#link = link
    this.#report = report
  }

  /** @returns the used part of the fullest server; null: no server has a `maxmemory`, or one does not answer. */
  read(): Promise<number | null> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #readOnce(): Promise<number | null> {
    clearTimeout(this.#timer)
    let usedPart: number | null = null
    try {
      const servers = await readMemory(this.#link)
      usedPart = fullestOf(servers)?.usedPart ?? null
      if (!this.#isClosed) this.#report(servers)
    } catch {
      // The last known values stay.
    }
    const pauseMs = (usedPart ?? 0) < busyPart ? restMs : busyMs
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.read(), pauseMs).unref()
    return usedPart
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }
}

async function readMemory(link: Pick<Link, 'masters'>): Promise<ServerMemory[]> {
  const nodes = await link.masters()
  return await Promise.all(
    nodes.map(async ({ place, ask }) => {
      const info = String(await ask('INFO', 'memory'))
      return { place, most: numberOf(info, 'maxmemory') || null, used: numberOf(info, 'used_memory') }
    }),
  )
}

const numberOf = (info: string, name: string): number =>
  Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
