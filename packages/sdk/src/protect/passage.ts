import type { HttpProblem } from '../http/problem.ts'
import { callListener, catchLater, warn } from '../runtime/reports.ts'
import type { RefusalCounts } from '../verify/refusal-counts.ts'
import type { Valid } from '../verify/verdict.ts'
import type { Exchange, HttpAnswer, Passage } from './exchange.ts'
import type { GateCode, GateOptions, GateVerdict, RefusalShape } from './gate-options.ts'

/** What counts the refusals of a gate, and the key of this request. */
interface Counting {
  counts: RefusalCounts | undefined
  presented: string | undefined
}

/**
 * Records a request at its gate. Refusals of the gate and of later middleware are counted, and go to the vendor's listeners.
 */
export function openPassage<Request>(
  exchange: Exchange,
  request: Request,
  { onRefused, onVerdict }: Pick<GateOptions<Request>, 'onRefused' | 'onVerdict'>,
  { counts, presented }: Partial<Counting> = {},
) {
  const report = (verdict: GateVerdict) => {
    if (onVerdict !== undefined) callListener(() => onVerdict(verdict, request))
  }
  const passage: Passage = {
    key: undefined,
    // If several protections have the same listener, the first one to let the request pass reports it.
    hasPassed: onVerdict !== undefined && exchange.passage?.hasPassed === onVerdict ? onVerdict : undefined,
    refuse(problem) {
      const code = problem.body.code as GateCode
      // Behind a gate in shadow the request goes on, and others judge it too.
      if (counts?.has(code) && exchange.takeRefusal(counts)) counts.add(code, passage.key ?? presented)
      report({
        passed: false,
        code,
        key: passage.key,
        ...(passage.hasPassed !== undefined && { later: true }),
      })
      return onRefused === undefined ? problem : shaped(problem, () => onRefused(problem, request))
    },
  }
  exchange.passage = passage
  return {
    refuse: passage.refuse,
    /** The key is valid; the request may still be refused. */
    knows(key: Valid) {
      passage.key = key
    },
    pass() {
      const { key, hasPassed } = passage
      passage.hasPassed = onVerdict
      if (hasPassed === undefined) report({ passed: true, code: key === undefined ? 'no_key' : 'valid', key })
    },
  }
}

/** Refuses after a gate, with the listeners of the gate. */
export const refusedBehind = (exchange: Exchange, problem: HttpProblem): HttpAnswer =>
  exchange.passage?.refuse(problem) ?? problem

/** The vendor's function cannot let the request pass: if it fails, the refusal stays. */
function shaped(problem: HttpProblem, shape: () => RefusalShape | undefined): HttpAnswer {
  try {
    const returned = shape()
    if (returned === undefined || returned === null) return problem
    if (typeof (returned as { then?: unknown }).then === 'function') {
      catchLater(returned, () => {})
      throw new TypeError('it returned a promise, and an answer does not wait for it')
    }
    return withShape(problem, returned)
  } catch (error) {
    warn(`onRefused was ignored: ${error instanceof Error ? error.message : 'it threw'}`, 'listener_threw')
    return problem
  }
}

/** @throws TypeError if the shape is not a valid refusal */
function withShape(problem: HttpProblem, { status = problem.status, headers = {}, body }: RefusalShape) {
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    throw new TypeError('status must be an integer from 400 to 599')
  }
  if (body !== undefined && (typeof body !== 'object' || body === null)) {
    throw new TypeError('body must be an object')
  }
  // Throws here, and not when it is sent, if the body is not JSON.
  JSON.stringify(body)
  const own = Object.entries(headers).map(([name, value]) => {
    if (typeof value !== 'string') throw new TypeError(`headers.${name} must be a string`)
    // Throws if the value is not valid in a header.
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
