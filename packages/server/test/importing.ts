import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { tokenDigest } from '../src/platform/crypto/token.ts'
import type { Harness, Heard } from './harness.ts'
import type { Vendor } from './vendor.ts'

/** A key as another system makes it: of no form. */
export const drawForeign = () => `other:${randomBytes(18).toString('base64')}`
export const hexOf = (key: string) => tokenDigest(key).toString('hex')

type Row = Record<string, unknown>

/** Imports rows into the vendor's project, live and with the live secret key unless a test says otherwise. */
export function openImport({ ask }: Pick<Harness, 'ask'>, { live, projectId, tenantId }: Vendor) {
  const send = (rows: unknown, more: Row = {}, token = live): Promise<Heard> =>
    ask('POST', '/v1/keys/import', { token, body: { project_id: projectId, env: 'live', rows, ...more } })
  return {
    send,
    /** A row for the vendor's tenant. */
    row: (key = drawForeign(), more: Row = {}): Row => ({ tenant_id: tenantId, digest: hexOf(key), ...more }),
    /** The answer of a call that is accepted. */
    async answer(rows: unknown, more: Row = {}, token = live): Promise<Heard['body']> {
      const { status, body } = await send(rows, more, token)
      assert.equal(status, 200, JSON.stringify(body))
      return body
    },
  }
}
