import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import { Refusal } from '../refusal.ts'
import type { Connection, Statement } from './connection.ts'
import { deadlineMs } from './deadline.ts'
import { destroySocket } from './destroy-socket.ts'
import { isConnectionLost, refusalOf } from './errors.ts'
import { Flight } from './flight.ts'
import { toParameter } from './parameter.ts'
import { connectPrimary } from './timeline.ts'

/**
 * A lane makes a hot statement fast without a cache that goes stale: all calls that arrive while one
 * statement is in flight ride the next one, as arrays in and rows out. It owns its connection.
 * Measured at 64 callers: one statement each 11,000/s, a batch 60,000/s.
 */
export type LaneSpec<In, Out> = LaneTraits<In> & (OneStatement<In, Out> | Conversation<In, Out>)

export interface OneStatement<In, Out> {
  /** Must not raise on data: one bad item would fail its neighbours. */
  statement: Statement
  /** Items to parameters, each an array in the order of the items. */
  values: (items: readonly In[]) => unknown[]
  /** Rows to answers, one an item, in the order of the items. */
  answers: (rows: Row[], items: readonly In[]) => Out[]
}

/** For what takes more than one statement: answers of one decide what the next one says. */
export interface Conversation<In, Out> {
  /** Answers, one an item, in the order of the items. After a throw an open transaction is rolled back. */
  converse: (ask: Ask, items: readonly In[]) => Promise<Out[]>
}

export type Row = Record<string, unknown>

/** Sends statements together, in one write. @returns the rows of each. */
export type Ask = (
  ...asked: readonly { statement: Statement; values: readonly unknown[] }[]
) => Promise<Row[][]>

interface LaneTraits<In> {
  name: string
  /** What else is set for its connection. */
  settings?: string
  /** A read may be sent again after a lost connection; a write is answered 503, for it may have happened. */
  repeatable: boolean
  /** What callers may share: items of one name are asked once, and all get that answer. */
  nameOf?: (item: In) => string
  /** About how many bytes an item takes in a batch. */
  bytesOf?: (item: In) => number
}

export interface Lane<In, Out> {
  /** @param until when the caller must be answered, on the clock of `performance.now()`. */
  run(item: In, until?: number): Promise<Out>
  /** Items that wait for a statement. */
  depth(): number
  close(): Promise<void>
}

export interface LaneObserver {
  batchSent(lane: string, items: number): void
}

const mostItems = 500
const mostBytes = 256 * 1024
/** Callers that may wait before new ones are turned away; at 500 a batch far more than 2 s of work. */
const mostWaiting = 20_000

/** How often overdue callers are looked for. A timer for each of them would cost more than a look-up. */
const lookMs = 25

interface Waiting<In, Out> {
  item: In
  until: number
  resolve: (answer: Out) => void
  reject: (error: unknown) => void
  /** Set when the caller was answered 503 meanwhile. */
  gone: boolean
}

export function openLane<In, Out>(
  connection: Connection,
  spec: LaneSpec<In, Out>,
  observer: LaneObserver,
): Lane<In, Out> {
  let client: pg.Client | null = null
  let queue: Waiting<In, Out>[] = []
  let running: Promise<void> | null = null
  let closed = false
  /** Callers who have no answer yet, in the queue or under way. */
  const unanswered = new Set<Waiting<In, Out>>()
  let clock: NodeJS.Timeout | undefined

  const lookForOverdue = () => {
    const now = performance.now()
    for (const waiting of unanswered) {
      if (waiting.until > now) continue
      waiting.gone = true
      waiting.reject(new Refusal('unavailable'))
    }
  }
  const answered = (waiting: Waiting<In, Out>) => {
    unanswered.delete(waiting)
    if (unanswered.size > 0) return
    clearInterval(clock)
    clock = undefined
  }

  const send = async (asked: readonly In[]): Promise<Out[]> => {
    if (spec.nameOf === undefined) return await sendEach(asked)
    const names = asked.map(spec.nameOf)
    const distinct = new Map(names.map((name, i) => [name, asked[i] as In]))
    const answers = await sendEach([...distinct.values()])
    const byName = new Map([...distinct.keys()].map((name, i) => [name, answers[i] as Out]))
    return names.map(name => byName.get(name) as Out)
  }
  const sendEach = async (items: readonly In[]): Promise<Out[]> => {
    client ??= await openClient(connection, spec as LaneSpec<never, unknown>)
    const own = client
    const timer = setTimeout(() => drop(own), deadlineMs)
    try {
      if ('converse' in spec) return await spec.converse(asker(own), items)
      const { name, text } = spec.statement
      const { rows } = await own.query({ name, text, values: spec.values(items) })
      return spec.answers(rows, items)
    } catch (error) {
      if (isConnectionLost(error)) drop(own)
      else if ('converse' in spec) await own.query('rollback').catch(() => drop(own))
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
  const drop = (lost: pg.Client) => {
    if (client === lost) client = null
    destroySocket(lost)
  }

  const sendBatch = async (batch: Waiting<In, Out>[]) => {
    observer.batchSent(spec.name, batch.length)
    try {
      const answers = await send(batch.map(waiting => waiting.item))
      batch.forEach((waiting, i) => {
        waiting.resolve(answers[i] as Out)
      })
    } catch (error) {
      const lost = isConnectionLost(error)
      // A refusal is the last word of a conversation: what it has written stands, and must not be written again.
      if ((lost || error instanceof Refusal) && !spec.repeatable) {
        for (const waiting of batch) waiting.reject(refusalOf(error))
      } else if (lost || batch.length === 1) {
        await again(batch, error)
      } else {
        // One item may be at fault: each for itself.
        for (const waiting of batch) await again([waiting], error)
      }
    }
  }
  const again = async (batch: Waiting<In, Out>[], first: unknown) => {
    const left = batch.filter(waiting => !waiting.gone)
    if (left.length === 0) return
    try {
      const answers = await send(left.map(waiting => waiting.item))
      left.forEach((waiting, i) => {
        waiting.resolve(answers[i] as Out)
      })
    } catch (error) {
      for (const waiting of left) waiting.reject(refusalOf(error ?? first))
    }
  }

  const pump = async () => {
    while (queue.length > 0) {
      await untilNoneComes()
      const batch = takeBatch()
      if (batch.length > 0) await sendBatch(batch)
    }
    running = null
  }
  /**
   * Requests that are already here join: on a core shared with Postgres an answer comes so soon that batches would be
   * of a few, each the price of a whole statement. As long as each turn of the event loop brings one, it waits.
   */
  const untilNoneComes = async () => {
    for (let waiting = 0; queue.length > waiting && queue.length < mostItems; ) {
      waiting = queue.length
      await setImmediate()
    }
  }
  /** What an item adds to a batch: nothing, where it shares the question of another. */
  const ownBytes = (item: In, shared: Set<string>): number => {
    if (spec.bytesOf === undefined) return 64
    const name = spec.nameOf?.(item)
    if (name !== undefined && shared.has(name)) return 0
    if (name !== undefined) shared.add(name)
    return spec.bytesOf(item)
  }
  const takeBatch = () => {
    const batch: Waiting<In, Out>[] = []
    const shared = new Set<string>()
    let bytes = 0
    let taken = 0
    for (const waiting of queue) {
      if (batch.length === mostItems) break
      const size = waiting.gone ? 0 : ownBytes(waiting.item, shared)
      if (batch.length > 0 && bytes + size > mostBytes) break
      taken += 1
      if (waiting.gone) continue
      bytes += size
      batch.push(waiting)
    }
    queue = queue.slice(taken)
    return batch
  }

  return {
    run(item, until = performance.now() + deadlineMs) {
      if (closed || queue.length >= mostWaiting) return Promise.reject(new Refusal('unavailable'))
      return new Promise<Out>((resolve, reject) => {
        const waiting: Waiting<In, Out> = {
          item,
          until,
          gone: false,
          resolve(answer) {
            answered(waiting)
            resolve(answer)
          },
          reject(error) {
            answered(waiting)
            reject(error)
          },
        }
        unanswered.add(waiting)
        clock ??= setInterval(lookForOverdue, lookMs)
        queue.push(waiting)
        running ??= pump()
      })
    },
    depth: () => queue.length,
    async close() {
      closed = true
      await running
      await client?.end()
      client = null
    },
  }
}

const asker =
  (client: pg.Client): Ask =>
  async (...asked) => {
    const rows: Row[][] = []
    const legs = asked.map(({ statement, values }, i) => ({
      statement,
      values: values.map(toParameter),
      landed(landed: object[]) {
        rows[i] = landed as Row[]
      },
    }))
    await client.query(new Flight(legs)).landed
    return rows
  }

/**
 * A lane looks rows up by their keys, whatever it is given, and its plan is made once. Made while a table is small it
 * would read all of it, and be kept while the table grows.
 */
const plansForIndexes = `set plan_cache_mode = force_generic_plan; set enable_seqscan = off;
  set enable_hashjoin = off; set enable_mergejoin = off`

async function openClient(connection: Connection, spec: LaneSpec<never, unknown>): Promise<pg.Client> {
  const { name, settings = '' } = spec
  // The driver's own pipeline takes no flights.
  const pipeline = !('converse' in spec)
  const client = await connectPrimary(connection, `lane ${name}`, pipeline)
  await client.query(`set statement_timeout = 2000; set lock_timeout = 1000; ${plansForIndexes}; ${settings}`)
  return client
}
