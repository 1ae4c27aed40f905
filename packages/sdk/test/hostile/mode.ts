import { type Asked, type FeedService, type Instead, secretKey } from '../feed-service.ts'
import { deltaOf, snapshotOf } from './node.ts'

/** One way in which a service can misbehave, and what the node must do. */
export interface Mode {
  name: string
  answer: (asked: Asked, service: FeedService) => Instead | undefined
  /** The code that `onError` receives; undefined if the answer is applied. */
  code: string | undefined
  /** The code where `fetch` carries the calls, if it is another one. */
  fetchCode?: string
  /** The error is permanent, so that a starting node stops. */
  ends?: true
  /** The answer is applied and reported. */
  isTaken?: true
  /** Where it can happen: before a node has ever served, or after. Default: both. */
  only?: 'start' | 'serving'
  cachedTtlMs?: number
  /** It takes long, so the test waits for one failure only. */
  isSlow?: true
  /** It takes most of a core, so it runs beside no other. */
  isAlone?: true
}

export const isDelta = ({ url }: Asked): boolean => url.pathname.endsWith('/delta')

/** An answer of the service with other fields. */
export function answerWith(asked: Asked, service: FeedService, more: object) {
  if (!isDelta(asked)) return snapshotOf(service, { keys: [...service.keys.values()], ...more })
  return deltaOf(service, [], { since: Number(asked.url.searchParams.get('since')), ...more })
}

type Row = [name: string, answer: Mode['answer'], code?: string | undefined, more?: Partial<Mode>]

export const modesOf = (rows: readonly Row[]): Mode[] =>
  rows.map(([name, answer, code, more]) => ({ name, answer, code, ...more }))

/** Reported by the node itself. */
export const bearer = `Bearer ${secretKey}`
