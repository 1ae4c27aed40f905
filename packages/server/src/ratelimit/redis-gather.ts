import { setImmediate } from 'node:timers/promises'
import { deadlineMs } from '../platform/db/deadline.ts'
import { Refusal } from '../platform/refusal.ts'

/**
 * Calls that arrive while one is under way ride the next one, as in a lane of Postgres. There is one queue for each
 * group, for what stands on different machines must not wait for each other.
 */
export interface GatherSpec<In, Out> {
  groupOf(item: In): string
  /** Which machine answers for a group. Only so many may wait for one of them. */
  machineOf(group: string): string
  /** At least as many bytes as an item takes in a batch. */
  bytesOf(item: In): number
  /** @returns answers, one an item, in the order of the items. */
  send(group: string, items: readonly In[]): Promise<Out[]>
}

export interface Gather<In, Out> {
  /** @param until when the caller must be answered, on the clock of `performance.now()`. */
  run(item: In, until?: number): Promise<Out>
  /** Items that wait to be sent. */
  depth(): number
  /** Sends what waits, then takes no more. */
  close(): Promise<void>
}

export const mostItems = 500
export const mostBytes = 256 * 1024
/** Callers without an answer before new ones are turned away, for each machine. */
export const mostWaiting = 20_000

/** How often overdue callers are looked for. A timer for each of them would cost more than a check. */
const lookMs = 25

interface Waiting<In, Out> {
  item: In
  until: number
  resolve: (answer: Out) => void
  reject: (error: unknown) => void
  /** Set when the caller has been answered. */
  gone: boolean
}

export function openGather<In, Out>(spec: GatherSpec<In, Out>): Gather<In, Out> {
  const queues = new Map<string, Waiting<In, Out>[]>()
  const running = new Set<Promise<void>>()
  const unanswered = new Set<Waiting<In, Out>>()
  /** How many of them there are for each machine. */
  const counts = new Map<string, number>()
  let closed = false
  let clock: NodeJS.Timeout | undefined

  const lookForOverdue = () => {
    const now = performance.now()
    for (const waiting of unanswered) if (waiting.until <= now) waiting.reject(new Refusal('unavailable'))
  }

  const pump = async (group: string, queue: Waiting<In, Out>[]) => {
    while (queue.length > 0) {
      await untilNoneComes(queue)
      const batch = takeBatch(queue, spec.bytesOf)
      if (batch.length > 0) await sendBatch(group, batch)
    }
    queues.delete(group)
  }
  const sendBatch = async (group: string, batch: readonly Waiting<In, Out>[]) => {
    try {
      const answers = await spec.send(
        group,
        batch.map(({ item }) => item),
      )
      batch.forEach((waiting, i) => {
        waiting.resolve(answers[i] as Out)
      })
    } catch (error) {
      for (const waiting of batch) waiting.reject(error)
    }
  }
  const enqueue = (group: string, waiting: Waiting<In, Out>) => {
    const queue = queues.get(group)
    if (queue !== undefined) return void queue.push(waiting)
    const own = [waiting]
    queues.set(group, own)
    const run = pump(group, own)
    running.add(run)
    run.finally(() => running.delete(run))
  }

  return {
    run(item, until = performance.now() + deadlineMs) {
      const group = spec.groupOf(item)
      const machine = spec.machineOf(group)
      const count = counts.get(machine) ?? 0
      if (closed || count >= mostWaiting) return Promise.reject(new Refusal('unavailable'))
      counts.set(machine, count + 1)
      return new Promise<Out>((resolve, reject) => {
        const settle = (tell: () => void) => {
          if (waiting.gone) return
          waiting.gone = true
          unanswered.delete(waiting)
          const left = (counts.get(machine) ?? 1) - 1
          if (left > 0) counts.set(machine, left)
          else counts.delete(machine)
          if (unanswered.size === 0) {
            clearInterval(clock)
            clock = undefined
          }
          tell()
        }
        const waiting: Waiting<In, Out> = {
          item,
          until,
          gone: false,
          resolve: answer => settle(() => resolve(answer)),
          reject: error => settle(() => reject(error)),
        }
        unanswered.add(waiting)
        clock ??= setInterval(lookForOverdue, lookMs)
        enqueue(group, waiting)
      })
    },
    depth: () => queues.values().reduce((sum, queue) => sum + queue.length, 0),
    async close() {
      closed = true
      await Promise.all(running)
    },
  }
}

/** Requests that are already here join: as long as each turn of the event loop brings one, it waits. */
async function untilNoneComes(queue: readonly unknown[]): Promise<void> {
  for (let waiting = 0; queue.length > waiting && queue.length < mostItems; ) {
    waiting = queue.length
    await setImmediate()
  }
}

/** Takes from the queue what rides together. Who has been answered 503 meanwhile is passed by. */
function takeBatch<In, Out>(queue: Waiting<In, Out>[], bytesOf: (item: In) => number): Waiting<In, Out>[] {
  const batch: Waiting<In, Out>[] = []
  let bytes = 0
  let taken = 0
  for (const waiting of queue) {
    const size = bytesOf(waiting.item)
    if (batch.length === mostItems || (batch.length > 0 && bytes + size > mostBytes)) break
    taken += 1
    if (waiting.gone) continue
    bytes += size
    batch.push(waiting)
  }
  queue.splice(0, taken)
  return batch
}
