import {
  ClaimBody,
  CompleteBody,
  HeartbeatBody,
  type IdempotencyCalls,
  type IdempotencyVerdicts,
  ReleaseBody,
} from '@keyrail/contract/idempotency'
import type { Static, TSchema } from 'typebox'
import { assertEnvReach } from '../gate/access.ts'
import { answerEach, underPath } from '../gate/listed-calls.ts'
import { compile } from '../platform/http/validate.ts'
import { invalidField } from '../platform/refusal.ts'
import {
  claimRecord,
  completeRecord,
  extendLock,
  type HotCall,
  laneBytesMax,
  releaseRecord,
} from './actions.ts'
import type { IdempotencyNeeds } from './needs.ts'
import { read as readCompleted } from './read-completion.ts'

type Verdict = Exclude<IdempotencyVerdicts['calls'][number], { error: unknown }>
type Answer = (deps: IdempotencyNeeds, call: HotCall<unknown>, path: string) => Promise<Verdict>

/** A call of a list, whose body is validated as if it had come alone. */
function listed<Schema extends TSchema>(
  schema: Schema,
  answer: (deps: IdempotencyNeeds, call: HotCall<Static<Schema>>, path: string) => Promise<Verdict>,
): Answer {
  const validate = compile(schema, 'call')
  return async (deps, call, path) => {
    underPath('call', path, () => validate(call.body))
    assertEnvReach(call.principal, call.body)
    return await answer(deps, call as HotCall<Static<Schema>>, path)
  }
}

const answers: Readonly<Record<string, Answer>> = {
  claim: listed(ClaimBody, (deps, call) => claimRecord(deps, call, laneBytesMax)),
  complete: listed(CompleteBody, (deps, call, path) => {
    const body = underPath('', path, () => readCompleted(call.body))
    return completeRecord(deps, { ...call, body })
  }),
  release: listed(ReleaseBody, releaseRecord),
  heartbeat: listed(HeartbeatBody, extendLock),
}
const names = Object.keys(answers)

/** Answers each call of a list as if it had come alone. */
export async function answerCalls(
  deps: IdempotencyNeeds,
  call: HotCall<IdempotencyCalls>,
): Promise<IdempotencyVerdicts> {
  const { principal, body, problemOf } = call
  let heldBytes = 0
  const holdBytes = (bytes: number) => {
    heldBytes += bytes
    call.holdBytes(heldBytes)
  }
  const answerOne = async (sent: unknown, at: number) => {
    const [name, body] = memberOf(sent, `calls.${at}`)
    return await (answers[name] as Answer)(deps, { ...call, body, holdBytes }, `calls.${at}.${name}`)
  }
  const end = deps.listedClaims.enter(principal.workspaceId, body.calls.length)
  const calls = await answerEach(body.calls, answerOne, problemOf).finally(end)
  return { object: 'idempotency_calls', calls }
}

/** @throws {Refusal} `validation_failed` */
function memberOf(sent: unknown, path: string): [name: string, body: unknown] {
  const [member, ...more] = typeof sent === 'object' && sent !== null ? Object.entries(sent) : []
  if (member === undefined || more.length > 0 || !names.includes(member[0]))
    throw invalidField(path, `must have one member: ${names.join(', ')}`)
  return member
}
