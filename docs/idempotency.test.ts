import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ClaimBody,
  ClaimVerdict,
  CompleteBody,
  CompleteVerdict,
  HeartbeatVerdict,
  ReleaseVerdict,
} from '@keyrail/contract/idempotency'
import type { TSchema } from 'typebox'
import { routes as idempotencyRoutes } from '../packages/server/src/idempotency/routes.ts'
import {
  largeBytesMax,
  mediumBytesMax,
  smallBytesMax,
} from '../packages/server/src/platform/http/body/large-bodies.ts'
import { readDocument, section, tableOf } from './documents.ts'

const page = readDocument('docs/idempotency.md')
const said = (number: number) => number.toLocaleString('en')

test('the verdicts match the API, each with its fields', () => {
  const verdictsOf = (call: string, union: TSchema) =>
    (union as unknown as { anyOf: { properties: Record<string, { const?: string }> }[] }).anyOf.map(
      ({ properties: { object: _, verdict, ...fields } }) => {
        const names = Object.keys(fields).join(', ')
        return [`\`${call}\``, `\`${verdict?.const}\``, names === '' ? '' : `\`${names}\``]
      },
    )
  assert.deepEqual(
    tableOf(section(page, 'Verdicts')).map(cells => cells.slice(0, 3)),
    [
      ...verdictsOf('claim', ClaimVerdict),
      ...verdictsOf('complete', CompleteVerdict),
      ...verdictsOf('release', ReleaseVerdict),
      ...verdictsOf('heartbeat', HeartbeatVerdict),
    ],
  )
})

test('the bounds match the API', () => {
  const bounds = new Map(tableOf(section(page, 'Bounds')).map(([what = '', bound = '']) => [what, bound]))
  const has = (what: string, ...parts: string[]) => {
    for (const part of parts) assert.ok(bounds.get(what)?.includes(part), `${what}: ${part}`)
  }
  const { ttl_ms } = ClaimBody.properties as unknown as Record<string, { minimum: number; maximum: number }>
  const { lock_token, headers, body } = CompleteBody.properties as unknown as {
    lock_token: { minLength: number; maxLength: number }
    headers: { propertyNames: { maxLength: number }; additionalProperties: { maxLength: number } }
    body: { maxLength: number }
  }
  has('`ttl_ms`', said(ttl_ms?.minimum ?? 0), said(ttl_ms?.maximum ?? 0))
  has('`lock_token`', `${lock_token.minLength} to ${lock_token.maxLength}`)
  has('`headers`', said(headers.propertyNames.maxLength), said(headers.additionalProperties.maxLength))
  has('`body`', said(body.maxLength))
  const complete = idempotencyRoutes.find(({ path }) => path.endsWith('/complete'))
  has('a whole `complete`', `${(complete?.bodyLimit ?? 0) / 1_048_576} MiB`)
  const [large, medium] = [largeBytesMax, mediumBytesMax].map(bytes => `${bytes / 1_048_576} MiB`)
  has('large at once', `${large} of`, `${medium} more`, `over ${smallBytesMax / 1_024} KiB`)
})
