import type { Env } from '@keyrail/contract/shared'
import { type RefusalReason, refusalReasons } from '@keyrail/contract/usage'
import type { Budgets } from '../platform/budgets.ts'
import { Deadline } from '../platform/concurrency/deadline.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Logger } from '../platform/observe/log.ts'
import { untilTaken } from './report-lane.ts'
import type { RefusalReport, Report, Reports } from './reports.ts'

/** Keys and hours that wait, about 200 bytes each. While the database is away, no more are counted. */
export const ownCountsMax = 100_000
/** Those of one workspace, so that its keys leave room for the counts of others. */
export const ownCountsOfOneMax = ownCountsMax / 4
/** As many as a report of a node may have. */
const recordsMax = 1_000

interface Used {
  readonly workspaceId: string
  readonly keyId: string
  /** Hours since 1970, in UTC, by the clock of the store. */
  readonly hour: number
}
interface Refused {
  readonly workspaceId: string
  readonly projectId: string
  readonly env: Env
  readonly hour: number
}
type Counted<Of> = Of & { count: number }
type CountedRefusal = Counted<Refused & { readonly reason: RefusalReason }>

/** A report that is sent until it is taken. The database counts it once, however often it is sent. */
interface Unsent {
  readonly workspaceId: string
  readonly records: number
  send(): Promise<unknown>
}

interface Needs {
  readonly reports: Pick<Reports, 'run' | 'refusals'>
  readonly makeId: MakeId
  readonly budgets: Pick<Budgets, 'requestMs' | 'countsMs'>
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Counts the requests that this process has judged itself, and adds them to those that nodes report: in memory, then in reports of
 * its own, one for many requests. Bounded. A count is of whole requests, never of a sample.
 */
export class OwnCounts {
  readonly #needs: Needs
  #uses = new Map<string, Counted<Used>>()
  #refusals = new Map<string, CountedRefusal>()
  /** Records that wait, by workspace. */
  readonly #waitingOf = new Map<string, number>()
  /** What was counted and is not yet taken, oldest first. */
  #unsent: Unsent[] = []
  #timer: NodeJS.Timeout | null = null
  #flight: Promise<void> = Promise.resolve()
  #isFull = false

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** A request that has passed. */
  use(used: Used): void {
    this.#add(this.#uses, `${used.workspaceId}${used.keyId}${used.hour}`, used)
  }

  /** A request that was refused. A code that says nothing about a key is not counted. */
  refuse(refused: Refused, code: string): void {
    const reason = refusalReasons.find(one => one === code)
    if (reason === undefined) return
    const { workspaceId, projectId, env, hour } = refused
    this.#add(this.#refusals, `${workspaceId}${projectId}${env}${reason}${hour}`, { ...refused, reason })
  }

  #add<Of extends { readonly workspaceId: string }>(
    counts: Map<string, Counted<Of>>,
    name: string,
    of: Of,
  ): void {
    const known = counts.get(name)
    if (known !== undefined) {
      known.count += 1
      return
    }
    const { workspaceId } = of
    const waiting = this.#waitingOf.get(workspaceId) ?? 0
    if (this.size >= ownCountsMax || waiting >= ownCountsOfOneMax) {
      if (!this.#isFull)
        this.#needs.log.warn({ workspace_id: workspaceId }, 'usage is not counted: too much waits')
      this.#isFull = true
      return
    }
    this.#waitingOf.set(workspaceId, waiting + 1)
    counts.set(name, { ...of, count: 1 })
    this.#wait()
  }

  #wait(): void {
    this.#timer ??= setTimeout(() => void this.flush(), this.#needs.budgets.countsMs).unref()
  }

  /** Records that wait. */
  get size(): number {
    return this.#unsent.reduce((sum, { records }) => sum + records, this.#uses.size + this.#refusals.size)
  }

  /** Sends what was counted. What the database does not take waits for the next time. Never rejects. */
  flush(): Promise<void> {
    this.#flight = this.#flight.then(() => this.#send())
    return this.#flight
  }

  /** Sends what is left, once. */
  close(): Promise<void> {
    return this.flush().finally(() => this.#stop())
  }

  async #send(): Promise<void> {
    this.#stop()
    this.#unsent.push(...this.#take())
    const sent = this.#unsent
    const ends = await Promise.allSettled(sent.map(report => report.send()))
    this.#unsent = sent.filter((_, i) => ends[i]?.status === 'rejected')
    for (const report of sent) if (!this.#unsent.includes(report)) this.#forget(report)
    if (this.#unsent.length === 0) this.#isFull = false
    else this.#wait()
  }

  #forget({ workspaceId, records }: Unsent): void {
    const left = (this.#waitingOf.get(workspaceId) ?? 0) - records
    if (left > 0) this.#waitingOf.set(workspaceId, left)
    else this.#waitingOf.delete(workspaceId)
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  /** Makes reports of the counts, and begins anew. */
  #take(): Unsent[] {
    const [uses, refusals] = [[...this.#uses.values()], [...this.#refusals.values()]]
    this.#uses = new Map()
    this.#refusals = new Map()
    const ofUses = [...Map.groupBy(uses, ({ workspaceId }) => workspaceId).values()]
    const ofRefusals = Map.groupBy(refusals, one => `${one.workspaceId}${one.projectId}${one.env}`).values()
    return [
      ...ofUses.flatMap(own => inParts(own, recordsMax).map(part => this.#usageReport(part))),
      ...[...ofRefusals].map(own => this.#refusalReport(own)),
    ]
  }

  #usageReport(records: readonly Counted<Used>[]): Unsent {
    const report: Report = {
      workspaceId: records[0]?.workspaceId ?? '',
      // Reports of a live credential, which may name keys of both environments.
      env: 'live',
      projectIds: null,
      reportId: this.#needs.makeId(),
      sampleRate: 1,
      records,
    }
    const { reports, budgets } = this.#needs
    return {
      workspaceId: report.workspaceId,
      records: records.length,
      send: () => untilTaken(reports, new Deadline(budgets.requestMs), report),
    }
  }

  #refusalReport(records: readonly CountedRefusal[]): Unsent {
    const { workspaceId, projectId, env } = records[0] as CountedRefusal
    const report: RefusalReport = { workspaceId, projectId, env, reportId: this.#needs.makeId(), records }
    const { reports, budgets } = this.#needs
    return {
      workspaceId,
      records: records.length,
      send: () => untilTaken(reports.refusals, new Deadline(budgets.requestMs), report),
    }
  }
}

function inParts<Item>(items: readonly Item[], most: number): Item[][] {
  const parts: Item[][] = []
  for (let at = 0; at < items.length; at += most) parts.push(items.slice(at, at + most))
  return parts
}
