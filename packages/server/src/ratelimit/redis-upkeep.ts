import type { Logger } from '../platform/log.ts'
import { keyOf, tagOf } from './redis-batch.ts'
import { subjectOfKey, walkKeys } from './redis-keys.ts'
import type { Link } from './redis-link.ts'
import type { Subject } from './subject.ts'

/** Makes room in Redis near a bound. */
export interface RedisUpkeep {
  /** Drops the counters of invented ids, of a project or of all projects of an environment, beside the checks. */
  makeRoom(tag: string): void
  close(): Promise<void>
}

export interface UpkeepParts {
  readonly link: Pick<Link, 'masters'>
  /** Deletes keys of one tag, and what they hold for it. */
  readonly drop: (tag: string, keys: readonly string[]) => Promise<void>
  readonly inventedOf: (subjects: readonly Subject[]) => Promise<Subject[]>
  readonly monotonic: () => number
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/** From the end of one walk to the next one. A walk visits all keys of a server. */
const restMs = 5_000
/** The same as a multiple of the duration of the last walk, so that walks take a small part of a server's time. */
const restTimes = 20
/** At most so many in one walk. */
const keysMost = 100_000

export function openRedisUpkeep({ link, drop, inventedOf, monotonic, log }: UpkeepParts): RedisUpkeep {
  let walking: Promise<void> | null = null
  let restUntil = Number.NEGATIVE_INFINITY
  let isClosed = false

  const dropInvented = async (tag: string) => {
    let dropped = 0
    await walkKeys(link, patternOf(tag), async keys => {
      const subjects = keys.map(subjectOfKey).filter(subject => subject !== null)
      const invented = subjects.length === 0 ? [] : await inventedOf(subjects)
      for (const [own, some] of Map.groupBy(invented, tagOf)) await drop(own, some.map(keyOf))
      dropped += invented.length
      return dropped < keysMost && !isClosed
    })
    if (dropped > 0) log.info({ keys: dropped }, 'counters of invented ids were dropped')
  }
  return {
    makeRoom(tag) {
      if (walking !== null || isClosed || monotonic() < restUntil) return
      const began = monotonic()
      walking = dropInvented(tag)
        .catch(error => log.warn({ err: error }, 'counters of invented ids could not be dropped'))
        .then(() => {
          const ended = monotonic()
          restUntil = ended + Math.max(restMs, restTimes * (ended - began))
          walking = null
        })
    },
    async close() {
      isClosed = true
      await walking
    },
  }
}

/** `keyrail:{workspace:env}` names all projects of an environment. */
function patternOf(tag: string): string {
  const parts = tag.slice('keyrail:{'.length, -1).split(':')
  const [workspaceId, env] = parts
  return parts.length === 2 ? `keyrail:{${workspaceId}:*:${env}}:*` : `${tag}:*`
}
