import assert from 'node:assert/strict'
import type { Harness, Heard } from './harness.ts'
import type { Vendor } from './vendor.ts'

/** Asks for verdicts on keys, with the vendor's live secret key and project unless a test names others. */
export function openVerify({ ask }: Pick<Harness, 'ask'>, { live, projectId }: Vendor) {
  const verify = (key: unknown, more: Record<string, unknown> = {}, token = live): Promise<Heard> =>
    ask('POST', '/v1/keys/verify', { token, body: { key, project_id: projectId, ...more } })
  return {
    verify,
    async codeOf(...asked: Parameters<typeof verify>): Promise<string> {
      const { status, body } = await verify(...asked)
      assert.equal(status, 200, JSON.stringify(body))
      return body.code
    },
  }
}

/** A limit whose window ends in no test. */
export const monthly = (limit: number, scope: 'key' | 'tenant' = 'key') => ({
  id: 'month',
  limit,
  window_ms: 2_678_400_000,
  algorithm: 'fixed' as const,
  scope,
})
