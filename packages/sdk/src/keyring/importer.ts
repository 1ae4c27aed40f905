import { createHttpCaller } from '../http/call.ts'
import type { SecretKeySource } from '../http/secret-key.ts'
import { digestToBase64 } from '../runtime/digest.ts'
import type { Customer } from './imported-customer.ts'
import type { Settings } from './options.ts'

const IMPORT_MS = 10_000
const ANSWER_MAX_BYTES = 64 * 1024

/** The environment of keys that a node imports. A node of both imports into live. */
export const ownEnv = (env: Settings['env']): 'live' | 'test' => (env === 'test' ? 'test' : 'live')

/** Imports one key of a customer. The service gets the digest, never the key. */
export function importer({ url, fetch, env, scope }: Settings, secretKey: SecretKeySource) {
  const call = createHttpCaller({ url, secretKey, fetch })
  return (digest: string, customer: Customer): Promise<unknown> => {
    const { tenantId, externalId, name, scopes, meta, expiresAt, createTenant } = customer
    const row = {
      ...(tenantId === undefined ? { external_id: externalId } : { tenant_id: tenantId }),
      digest: digestToBase64(digest),
      ...(name !== undefined && { name }),
      scopes,
      ...(meta !== undefined && { meta }),
      ...(expiresAt !== null && { expires_at: new Date(expiresAt).toISOString() }),
    }
    return call({
      method: 'POST',
      path: '/v1/keys/import',
      body: { project_id: scope.projectId, env: ownEnv(env), create_tenants: createTenant, rows: [row] },
      accepts: [200, 201, 202],
      timeoutMs: IMPORT_MS,
      maxBytes: ANSWER_MAX_BYTES,
    })
  }
}
