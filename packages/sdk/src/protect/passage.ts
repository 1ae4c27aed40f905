import type { HttpProblem } from '../http/problem.ts'
import { catchLater, tell, warn } from '../runtime/reports.ts'
import type { Valid } from '../verify/verdict.ts'
import type { GateOptions, GateVerdict, RefusalShape } from './gate-options.ts'

/** What is answered in place of a route. */
export interface HttpAnswer {
  status: number
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  body: object
}

/** What a gate knows of a request, for what stands behind it. */
interface Passage {
  key: Valid | undefined
  refuse(problem: HttpProblem): HttpAnswer
}

const passages = new WeakMap<object, Passage>()

/**
 * Opens a request's way through a gate: refusals, here and behind it, are told and shaped as the vendor wants them.
 *
 * @param exchange what stands for this request alone
 */
export function openPassage<Request>(
  exchange: object,
  request: Request,
  listeners: Pick<GateOptions<Request>, 'onRefused' | 'onVerdict'>,
) {
  const told = (verdict: GateVerdict) => {
    const { onVerdict } = listeners
    if (onVerdict !== undefined) tell(() => onVerdict(verdict, request))
  }
  const passage: Passage = {
    key: undefined,
    refuse(problem) {
      told({ passed: false, code: problem.body.code, key: passage.key })
      const { onRefused } = listeners
      return onRefused === undefined ? problem : shaped(problem, () => onRefused(problem, request))
    },
  }
  passages.set(exchange, passage)
  return {
    refuse: passage.refuse,
    /** The key is valid, whatever else may stand in the way. */
    knows(key: Valid) {
      passage.key = key
    },
    pass() {
      told({ passed: true, code: passage.key === undefined ? 'no_key' : 'valid', key: passage.key })
    },
  }
}

/** A refusal behind a gate, as the gate would tell it. */
export const refusedBehind = (exchange: object, problem: HttpProblem): HttpAnswer =>
  passages.get(exchange)?.refuse(problem) ?? problem

/** Whether a gate has let a request pass that has no key. */
export function isAnonymous(exchange: object): boolean {
  const passage = passages.get(exchange)
  return passage !== undefined && passage.key === undefined
}

/** Whatever the vendor's function does, the request is refused. */
function shaped(problem: HttpProblem, shape: () => RefusalShape | undefined): HttpAnswer {
  try {
    const said = shape()
    if (said === undefined || said === null) return problem
    catchLater(said, () => {})
    return withShape(problem, said)
  } catch (error) {
    warn(
      `onRefused was passed over: ${error instanceof Error ? error.message : 'it threw'}`,
      'listener_threw',
    )
    return problem
  }
}

/** @throws TypeError for what is no refusal */
function withShape(problem: HttpProblem, { status = problem.status, headers = {}, body }: RefusalShape) {
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    throw new TypeError('status must be an integer from 400 to 599')
  }
  if (body !== undefined && (typeof body !== 'object' || body === null)) {
    throw new TypeError('body must be an object')
  }
  // What JSON cannot hold shows here, and not where it is sent.
  JSON.stringify(body)
  const own = Object.entries(headers).map(([name, value]) => {
    if (typeof value !== 'string') throw new TypeError(`headers.${name} must be a string`)
    // Throws for what no header can hold.
    new Headers([[name, value]])
    return [name.toLowerCase(), value]
  })
  return {
    status,
    headers: {
      ...problem.headers,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...Object.fromEntries(own),
    },
    body: body ?? { ...problem.body, status },
  }
}
