import { createHttpCaller } from '../http/call.ts'
import { parseMembers } from '../http/json.ts'
import type { SecretKeySource } from '../http/secret-key.ts'
import { digestToBase64 } from '../runtime/digest.ts'
import { passing } from '../runtime/errors.ts'
import type { Customer } from './imported-customer.ts'
import type { Settings } from './options.ts'

const IMPORT_MS = 5_000
const ANSWER_MAX_BYTES = 64 * 1024
const FAULTS_MAX = 10

/** What the service says of an imported key. */
export interface Imported {
  /** The service has the key, and servers may accept it. */
  isActive: boolean
  /** Why the service does not take the key: fields and what is wrong with them, without values. */
  faults?: string | undefined
}

/** Imports one key of a customer. The service gets the digest, never the key. */
export function importer({ url, fetch, env, scope }: Settings, secretKey: SecretKeySource) {
  const call = createHttpCaller({ url, secretKey, fetch })
  // The environment of a node of both is live.
  const own = env === 'test' ? 'test' : 'live'
  return async (digest: string, customer: Customer, into: 'live' | 'test' = own): Promise<Imported> => {
    const { tenantId, externalId, name, scopes, meta, expiresAt, createTenant } = customer
    const row = {
      ...(tenantId === undefined ? { external_id: externalId } : { tenant_id: tenantId }),
      digest: digestToBase64(digest),
      ...(name !== undefined && { name }),
      scopes,
      ...(meta !== undefined && { meta }),
      ...(expiresAt !== null && { expires_at: new Date(expiresAt).toISOString() }),
    }
    const { text } = await call({
      method: 'POST',
      path: '/v1/keys/import',
      body: { project_id: scope.projectId, env: into, create_tenants: createTenant, rows: [row] },
      accepts: [200],
      timeoutMs: IMPORT_MS,
      maxBytes: ANSWER_MAX_BYTES,
    })
    return readImported(text)
  }
}

/** @throws KeyrailError for an answer that has no row */
function readImported(text: string): Imported {
  const { rows } = parseMembers(text)
  const [row] = Array.isArray(rows) ? rows : []
  const { status, active, errors } = Object(row) as { [field: string]: unknown }
  if (status === 'invalid') return { isActive: false, faults: toFaults(errors) }
  if (status !== 'created' && status !== 'exists')
    throw passing('bad_response', 'POST /v1/keys/import did not say what became of the key')
  return { isActive: active === true }
}

function toFaults(errors: unknown): string {
  const all = (Array.isArray(errors) ? errors : []).slice(0, FAULTS_MAX)
  return all.map(fault => `${fault?.path} ${fault?.message}`).join('; ') || 'it does not say why'
}
