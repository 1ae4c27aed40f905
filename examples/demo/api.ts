import type { Propagation } from '@keyrail/contract/vendor/keys'
import { startExample } from './example.ts'
import { type Conversation, expect } from './talk.ts'
import type { Vendor } from './vendor.ts'

/** The vendor's protected API: it answers with a key, refuses without one, and refuses a revoked key at once. */
export async function protectApi(
  talk: Conversation,
  service: string,
  vendor: Vendor,
  serverKey: string,
): Promise<void> {
  const { token, key } = vendor
  const api = await startExample('vendor-api', {
    KEYRAIL_URL: service,
    KEYRAIL_SECRET_KEY: serverKey,
    KEYRAIL_PROJECT: vendor.projectId,
  })
  try {
    const call = (title: string, sent: string | null, status: number, show: string[]) =>
      talk.ask<{ code?: string }>(
        { title, method: 'GET', path: '/payments', token: sent, status, show },
        api.url,
      )

    await call("The customer calls the vendor's API, which examples/vendor-api protects", key.key, 200, [
      'customer',
      'payments',
    ])
    await call('Without a key', null, 401, ['code'])
    const typo = key.key.slice(0, -1) + (key.key.endsWith('0') ? '1' : '0')
    const mistyped = await call(
      'With a mistyped one: its checksum is wrong, so it needs no look-up',
      typo,
      401,
      ['code'],
    )
    expect(mistyped.code === 'malformed_key', 'the checksum detects a typo')

    const { propagation } = await talk.ask<{ propagation: Propagation }>({
      title: 'The vendor revokes the key, and waits until every server that verifies keys has the revocation',
      method: 'POST',
      path: `/v1/keys/${key.id}/revoke?wait=true`,
      token,
      status: 200,
      show: ['revoked_at', 'propagation.acknowledged', 'propagation.nodes', 'propagation.waited_ms'],
    })
    expect(propagation.acknowledged && propagation.nodes === 1, 'the fleet, one server, has acknowledged it')
    const refused = await call('The next request with the revoked key', key.key, 401, ['code'])
    expect(refused.code === 'revoked_key', 'a revoked key is refused')
  } finally {
    await api.stop()
  }
}
