import { setImmediate } from 'node:timers/promises'
import { Refusal } from '../refusal.ts'
import type { Deadline } from './deadline.ts'
import { type Pending, PendingCall, type PendingCount, watchDeadlines } from './pending-calls.ts'
import { Turns } from './turns.ts'

/**
 * Calls that arrive while a batch is under way share the next batch, so that many calls pay for one round trip. This file has
 * what does not depend on the store: queues, limits, deadlines. A carrier sends the batches, over a lane of Postgres
 * (`db/lanes/lane.ts`) or to Redis (`ratelimit/redis/redis.ts`).
 */
export interface BatchingSpec<In, Out> {
  /** Sends one batch and answers its calls. If it throws, the calls that have no answer yet get the error. */
  carry(calls: readonly Pending<In, Out>[], group: string): Promise<void>
  /** How long an item without a deadline may take, in ms. */
  readonly requestMs: number
  /** Calls of one server that may be pending; unset: `mostWaiting`. */
  readonly pendingMost?: number
  /** Items of different groups go in different batches, and no group waits for another. Unset: all items are one group. */
  groupOf?(item: In): string
  /**
   * The server that answers a group. At most `pendingMost` calls may be pending for one server. Unset: one server for all
   * groups.
   */
  serverOf?(group: string): string
  /** Items with the same name ask the same question. They count once in the bytes of a batch. */
  nameOf?(item: In): string
  /** The bytes that an item takes in a batch, rather too high than too low. */
  bytesOf?(item: In): number
  /** The party that asks. Parties take turns when more calls wait than a batch holds. Unset: calls go in order of arrival. */
  partyOf?(item: In): string
}

export interface Batching<In, Out> {
  /**
   * @param deadline of the call that asks; without a deadline the item has `requestMs`.
   * @throws {Refusal} `unavailable` at the deadline, or at once when too many calls are pending.
   */
  run(item: In, deadline?: Pick<Deadline, 'at'>): Promise<Out>
  /** Items that wait for a batch. */
  depth(): number
  /** Sends the waiting items, and accepts no more. */
  close(): Promise<void>
}

/** Limits of one batch. A longer batch gains nothing at 64 callers, and delays the calls behind it. */
export const mostItems = 500
export const mostBytes = 256 * 1024
/** Callers of one server that may be pending before new ones are refused; far more than 2 s of work. */
export const mostWaiting = 20_000

/** Bytes of an item without `bytesOf`. */
const bytesOfPlainItem = 64

/** The calls of one group: each waits for a batch, and then is under way in it. */
interface Group<In, Out> {
  waiting: PendingCall<In, Out>[]
  underWay: PendingCall<In, Out>[]
  readonly turns: Turns<In> | null
  /** Settles when no call of the group waits or is under way. */
  ended: Promise<void>
}

export function openBatching<In, Out>(spec: BatchingSpec<In, Out>): Batching<In, Out> {
  const {
    carry,
    requestMs,
    pendingMost = mostWaiting,
    groupOf = oneForAll,
    serverOf = oneForAll,
    partyOf,
  } = spec
  const groups = new Map<string, Group<In, Out>>()
  const counts = new Map<string, PendingCount>()
  const beginWatch = watchDeadlines(() =>
    groups.values().flatMap(({ waiting, underWay }) => [underWay, waiting]),
  )
  let closed = false

  /** Sends batch after batch of one group, until none of its calls waits. */
  const sendAll = async (name: string, group: Group<In, Out>) => {
    while (group.waiting.length > 0) {
      await untilNoneArrives(group.waiting)
      const batch = takeBatch(group, spec)
      if (batch.length === 0) continue
      try {
        await carry(batch, name)
      } catch (error) {
        for (const call of batch) call.reject(error)
      }
    }
    groups.delete(name)
  }
  const enqueue = (name: string, call: PendingCall<In, Out>) => {
    beginWatch()
    const group = groups.get(name)
    if (group !== undefined) return void group.waiting.push(call)
    const turns = partyOf === undefined ? null : new Turns(partyOf)
    const own: Group<In, Out> = { waiting: [call], underWay: [], turns, ended: Promise.resolve() }
    groups.set(name, own)
    own.ended = sendAll(name, own)
  }
  const countOf = (group: string): PendingCount => {
    const server = serverOf(group)
    const known = counts.get(server)
    if (known !== undefined) return known
    const count = { pending: 0 }
    counts.set(server, count)
    return count
  }

  return {
    run(item, deadline) {
      const group = groupOf(item)
      const count = countOf(group)
      // The count of pending calls leaves out overdue calls, which stay in the queue: so the queue has a limit too.
      const waiting = groups.get(group)?.waiting.length ?? 0
      if (closed || count.pending >= pendingMost || waiting >= pendingMost)
        return Promise.reject(new Refusal('unavailable'))
      const call = new PendingCall<In, Out>(item, deadline?.at ?? performance.now() + requestMs, count)
      enqueue(group, call)
      return call.answer
    },
    depth: () => groups.values().reduce((sum, { waiting }) => sum + waiting.length, 0),
    async close() {
      closed = true
      await Promise.all(groups.values().map(({ ended }) => ended))
    },
  }
}

const oneForAll = () => ''

/**
 * Waits as long as each turn of the event loop brings another call, so that requests which have already arrived share the
 * batch. On a core shared with Postgres an answer comes so soon that batches would otherwise have a few items, each at the
 * price of a whole statement.
 */
async function untilNoneArrives(queue: readonly unknown[]): Promise<void> {
  for (let seen = 0; queue.length > seen && queue.length < mostItems; ) {
    seen = queue.length
    await setImmediate()
  }
}

/** Moves the calls of the next batch from the queue to `underWay`. Calls that were answered 503 meanwhile are dropped. */
function takeBatch<In, Out>(
  group: Group<In, Out>,
  spec: BatchingSpec<In, Out>,
): readonly PendingCall<In, Out>[] {
  let { batch, taken } = fill(group.waiting, spec)
  // Turns matter, and cost time, only when not all calls fit into one batch.
  if (group.turns !== null && taken < group.waiting.length) {
    group.waiting = group.turns.order(group.waiting.filter(({ isAnswered }) => !isAnswered))
    ;({ batch, taken } = fill(group.waiting, spec))
    group.turns.note(batch)
  }
  group.waiting = group.waiting.slice(taken)
  group.underWay = batch
  return batch
}

/** @returns the first calls that fit into a batch, and how many calls leave the queue, answered ones included. */
function fill<In, Out>(
  waiting: readonly PendingCall<In, Out>[],
  { nameOf, bytesOf = () => bytesOfPlainItem }: BatchingSpec<In, Out>,
): { batch: PendingCall<In, Out>[]; taken: number } {
  const names = new Set<string>()
  /** The bytes that an item adds to the batch: 0, if an item with the same name is in the batch. */
  const addedBytes = (item: In): number => {
    const name = nameOf?.(item)
    if (name === undefined) return bytesOf(item)
    if (names.has(name)) return 0
    names.add(name)
    return bytesOf(item)
  }
  const batch: PendingCall<In, Out>[] = []
  let bytes = 0
  let taken = 0
  for (const call of waiting) {
    if (batch.length === mostItems) break
    const added = call.isAnswered ? 0 : addedBytes(call.item)
    if (batch.length > 0 && bytes + added > mostBytes) break
    taken += 1
    if (call.isAnswered) continue
    bytes += added
    batch.push(call)
  }
  return { batch, taken }
}

/** Sends the items of calls and gives each call its answer. @param send returns one answer for each item, in order. */
export async function answerCalls<In, Out>(
  calls: readonly Pending<In, Out>[],
  send: (items: In[]) => Promise<readonly Out[]>,
): Promise<void> {
  const answers = await send(calls.map(({ item }) => item))
  calls.forEach((call, i) => {
    call.resolve(answers[i] as Out)
  })
}

/** Sends one item of each name, and gives its answer to all items of that name. */
export async function sendDistinct<In, Out>(
  items: readonly In[],
  nameOf: (item: In) => string,
  send: (items: In[]) => Promise<readonly Out[]>,
): Promise<Out[]> {
  const names = items.map(nameOf)
  const distinct = new Map(names.map((name, i) => [name, items[i] as In]))
  const answers = await send([...distinct.values()])
  const answerOf = new Map([...distinct.keys()].map((name, i) => [name, answers[i] as Out]))
  return names.map(name => answerOf.get(name) as Out)
}
