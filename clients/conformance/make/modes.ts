import { FeedService } from '../../../packages/sdk/test/feed-service.ts'
import type { Mode } from '../../../packages/sdk/test/hostile/mode.ts'
import { policyKey } from '../../../packages/sdk/test/keys.ts'
import type { Answer, Case, Json, Step } from '../case.ts'
import { BEGINS_AT } from '../run.ts'
import {
  advances,
  answers,
  asksDelta,
  asksSnapshot,
  delta,
  fails,
  one,
  polls,
  recovers,
  recoversLate,
  serves,
  TTL_MS,
  two,
  upsert,
  VERSION,
  verifies,
} from './fixtures.ts'

/** Cases of the SDK's hostile modes: each to a node that starts, and to one that serves. */

/** What a case says beyond its mode. */
export interface Beyond {
  /** Codes that another HTTP library may see. */
  codes?: readonly string[]
  /** The delay before the next poll, where the node starts and where it serves. */
  starting?: readonly number[]
  serving?: readonly number[]
  open?: Json
}

/** A service as it is when the mode begins: one key, at the first version. It listens nowhere. */
function serviceAt(version: number): FeedService {
  const service = new FeedService()
  service.url = 'http://127.0.0.1'
  service.clock = () => BEGINS_AT
  service.version = version
  service.keys.set('1', policyKey(one, 1))
  return service
}

/** The answer of a mode, without what differs from run to run. */
export function answerOf(mode: Mode, isServing: boolean): Answer {
  const service = serviceAt(VERSION)
  const url = new URL(
    isServing ? `/v1/policy/delta?since=${VERSION}` : '/v1/policy/snapshot',
    'http://127.0.0.1',
  )
  const given = mode.answer({ url, headers: {} }, service)
  if (given === undefined || given.raw !== undefined) throw new Error(`${mode.name}: has no plain answer`)
  const { status, headers, body, hang } = given
  if (hang) return { hang }
  return { ...(status !== undefined && { status }), ...(headers && { headers }), ...contentOf(body) }
}

const contentOf = (body: unknown): Answer => {
  if (Buffer.isBuffer(body)) return { base64: body.toString('base64') }
  return typeof body === 'string' ? { text: body } : { body }
}

export function casesOf(
  modes: readonly Mode[],
  from: string,
  beyond: Readonly<Record<string, Beyond>> = {},
  own: (mode: Mode, isServing: boolean) => Answer = answerOf,
): Case[] {
  return modes.flatMap(mode => {
    const more = beyond[mode.name] ?? {}
    const open = more.open === undefined ? {} : { open: more.open }
    const caseTo = (node: string, steps: Step[]): Case => ({
      name: `${mode.name}, to a node that ${node}`,
      from,
      ...open,
      steps,
    })
    return [
      ...(mode.only === 'serving' ? [] : [caseTo('starts', starting(mode, own, more))]),
      ...(mode.only === 'start' ? [] : [caseTo('serves', serving(mode, own, more))]),
    ]
  })
}

const codeOf = ({ code = '' }: Mode, { codes = [] }: Beyond): unknown =>
  codes.length === 0 ? code : { any: [code, ...codes] }

function starting(mode: Mode, own: typeof answerOf, more: Beyond): Step[] {
  const answer: Step = { answer: own(mode, false), asked: asksSnapshot }
  if (mode.code === undefined) return [answer, polls('snapshot'), verifies(one, 'valid')]
  if (mode.ends)
    return [
      answer,
      fails(mode.code, { delay: null }),
      { do: { op: 'ready' }, gives: { ready: false } },
      verifies(one, 'not_ready'),
    ]
  return [answer, fails(codeOf(mode, more), more.starting ? { delay: more.starting } : {}), recovers]
}

function serving(mode: Mode, own: typeof answerOf, more: Beyond): Step[] {
  const given = own(mode, true)
  const answer: Step = { answer: given, asked: asksDelta(VERSION, { prefer: 'wait=25' }) }
  if (mode.code !== undefined)
    return [
      serves,
      answer,
      fails(codeOf(mode, more), more.serving ? { delay: more.serving } : {}),
      recoversLate,
    ]
  const { version = VERSION, changes = [] } = (given.body ?? {}) as { version?: number; changes?: unknown[] }
  const isNew = version !== VERSION || changes.length > 0
  return [
    serves,
    answer,
    polls(isNew ? 'delta' : 'unchanged'),
    verifies(one, 'valid'),
    advances(TTL_MS - 1),
    verifies(one, 'valid'),
    advances(1),
    verifies(one, 'stale'),
    ...(version > VERSION + 1
      ? []
      : [
          answers(delta(version, VERSION + 2, [upsert(2)], TTL_MS), asksDelta(version)),
          polls('delta'),
          verifies(two, 'valid'),
        ]),
  ]
}
