/**
 * Wakes waiting requests in all processes: `hints.ts` sends after a commit, `listener.ts` is the connection that
 * listens.
 */

import type { Clock } from '../../clock.ts'
import type { Lanes } from '../lanes/lanes.ts'
import { type ListenerParts, notify, openListener } from './listener.ts'

/**
 * Wakes waiting requests, in this process and in others, so that they look again. A hint carries no data and may be lost:
 * waiting requests also look by themselves. A hint is sent after the commit and never in the transaction, since NOTIFY takes a
 * lock on the whole database at commit (11,200 commits/s became 3,500 to 5,100).
 */
export interface Hints {
  announce(topic: string): void
  /** @returns a function that ends the subscription. */
  listen(topic: string, wake: () => void): () => void
  /** Asks the store for its time every 2 s, from now on. */
  tellTime(ask: ListenerParts['askTime']): void
  close(): void
}

interface HintsParts extends Pick<ListenerParts, 'connection' | 'every'> {
  readonly lanes: Lanes
  readonly clock: Pick<Clock, 'now'>
  readonly metrics: { watch(figure: HeardFigure): void }
}

interface HeardFigure {
  readonly name: string
  readonly help: string
  readonly gathered: 'min'
  readonly read: () => readonly { value: number }[]
}

export function openHints({ connection, lanes, clock, metrics, ...more }: HintsParts): Hints {
  const listeners = new Map<string, Set<() => void>>()
  let askTime: ListenerParts['askTime'] = () => () => {}
  const lane = lanes.open<string, void>(
    {
      name: 'hints',
      shares: 'writes',
      statement: notify,
      // A hint that is sent twice does no harm.
      repeatable: true,
      values: topics => [[...new Set(topics)]],
      answers: (_rows, topics) => topics.map(() => undefined),
    },
    connection,
  )
  const tell = (topic: string) => {
    for (const wake of listeners.get(topic) ?? []) wake()
  }
  const listener = openListener({
    ...more,
    connection,
    now: clock.now,
    notified: tell,
    askTime: () => askTime(),
    returned() {
      for (const topic of listeners.keys()) tell(topic)
    },
  })
  metrics.watch({
    name: 'keyrail_hints_heard_timestamp_seconds',
    help: lastHintHelp,
    gathered: 'min',
    read() {
      const at = listener.notifiedAt()
      return at === null ? [] : [{ value: at / 1_000 }]
    },
  })

  return {
    announce(topic) {
      tell(topic)
      // The notification of this process comes back to it too, and causes one more look, which finds nothing new.
      lane.run(topic).catch(() => {})
    },
    listen(topic, wake) {
      const wakers = listeners.get(topic) ?? new Set()
      listeners.set(topic, wakers.add(wake))
      // The listener stays open from the first subscription on.
      listener.open()
      return () => {
        wakers.delete(wake)
        if (wakers.size === 0) listeners.delete(topic)
      }
    },
    tellTime(ask) {
      askTime = ask
      listener.open()
    },
    close: () => listener.close(),
  }
}

const lastHintHelp = 'When this process last heard a hint, or its own of every 2 s; 0: not yet.'
