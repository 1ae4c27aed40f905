import { type Harness, startHarness } from '../packages/server/test/harness.ts'
import { issueKey, makeVendor } from '../packages/server/test/vendor.ts'

export interface Stage {
  workspaceId: string
  token: string
  projectId: string
  tenantId: string
  keyId: string
  secretKeyId: string
}

/** A service whose tenants may have two active keys of each environment, for the tests of docs/lifecycle.md. */
export const openHouse = () => startHarness({ maxActiveKeysPerTenant: 2 })

/** A workspace with one key of each environment in one project, and a spare secret key. */
export async function setStage(harness: Harness): Promise<Stage> {
  const vendor = await makeVendor(harness)
  const key = await issueKey(harness, vendor)
  await issueKey(harness, vendor, { env: 'test' })
  const { workspaceId, live: token, projectId, tenantId, testId } = vendor
  return { workspaceId, token, projectId, tenantId, keyId: key.id, secretKeyId: testId }
}
