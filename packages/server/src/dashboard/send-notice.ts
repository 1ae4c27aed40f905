import { statusOf } from '@keyrail/contract/errors'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../platform/refusal.ts'
import type { Notice } from './notice.ts'

/** @param after the value of Retry-After, in seconds. */
export const unavailable = (after: string) =>
  new Refusal('unavailable', '', { headers: { 'retry-after': after } })

/** @param refusal why the dashboard is not there; logged as such, not as a fault of this request. */
export function sendNotice(
  request: FastifyRequest,
  reply: FastifyReply,
  { html, headers }: Notice,
  refusal: Refusal,
) {
  request.refusal = refusal
  return reply
    .code(statusOf(refusal.code, false))
    .headers({ ...headers, ...refusal.headers, 'content-type': 'text/html; charset=utf-8' })
    .send(html)
}
