import { type Asked, type FeedService, type Instead, secretKey } from '../feed-service.ts'
import { deltaOf, snapshotOf } from './node.ts'

/** One way in which a service can misbehave, and what a node must make of it. */
export interface Mode {
  name: string
  answer: (asked: Asked, service: FeedService) => Instead | undefined
  /** The code that `onError` is told; undefined where the answer is taken as it is. */
  code: string | undefined
  /** Of a code that says that waiting is no use, so that a node that starts gives up. */
  ends?: true
  /** The answer confirms what is held, or another part of it is odd: it is told of, and taken. */
  isTaken?: true
  /** Where it can come about: before a node has ever served, or after. Both unless given. */
  only?: 'start' | 'serving'
  cachedTtlMs?: number
  /** It takes long, so one failure is seen and no more. */
  isSlow?: true
}

export const isDelta = ({ url }: Asked): boolean => url.pathname.endsWith('/delta')

/** What the service could have said, with other members. */
export function told(asked: Asked, service: FeedService, more: object) {
  if (!isDelta(asked)) return snapshotOf(service, { keys: [...service.keys.values()], ...more })
  return deltaOf(service, [], { since: Number(asked.url.searchParams.get('since')), ...more })
}

type Row = [name: string, answer: Mode['answer'], code?: string | undefined, more?: Partial<Mode>]

export const modesOf = (rows: readonly Row[]): Mode[] =>
  rows.map(([name, answer, code, more]) => ({ name, answer, code, ...more }))

/** Told by nobody but the node itself. */
export const bearer = `Bearer ${secretKey}`
