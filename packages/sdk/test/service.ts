import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { startHarness } from '../../server/test/harness.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { createKeyring } from '../src/keyring/keyring.ts'
import type { Valid } from '../src/verify/verdict.ts'

/** The real service on a real socket, with a vendor and a keyring of the vendor's project. */
export async function startKeyrail() {
  const service = await startHarness()
  const vendor = await makeVendor(service)
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = service.app.server.address() as AddressInfo
  const connection = { url: `http://127.0.0.1:${port}`, secretKey: vendor.live }
  const settings = { ...connection, project: vendor.projectId }
  return {
    /** For limiters and idempotency, whose callers would not wait as long for a busy machine. */
    patient: { ...settings, timeoutMs: 60_000 },
    service,
    vendor,
    connection,
    settings,
    port,
    issue: (more: Record<string, unknown> = {}): Promise<{ id: string; key: string }> =>
      issueKey(service, vendor, more),
    /** Issues a key and returns its verdict. */
    async valid(more: Record<string, unknown> = {}): Promise<Valid> {
      const { key } = await issueKey(service, vendor, more)
      await using keyring = createKeyring(settings)
      await keyring.ready()
      const verdict = keyring.verify(key)
      assert.ok(verdict.valid)
      return verdict
    },
    async openKeyring() {
      // So short that the service holds no answer, which would delay closing.
      const keyring = createKeyring({ ...settings, cachedTtlMs: 10_000 })
      after(() => keyring.close())
      await keyring.ready()
      return keyring
    },
  }
}
