import { createKeyring, type Keyring, type KeyringOptions, type Notice } from '../../src/index.ts'
import { type FeedService, project, secretKey, startFeedService, workspaceId } from '../feed-service.ts'
import { drawKey, policyKey } from '../keys.ts'

/** A node with a service that misbehaves, and the node's reports. */
export interface Witness {
  keyring: Keyring
  errors: { code: string; message: string }[]
  notices: Notice[]
}

/** A keyring that polls often, so that a test need not wait. */
export function openWitness(service: FeedService, options: Partial<KeyringOptions> = {}): Witness {
  const errors: Witness['errors'] = []
  const notices: Notice[] = []
  const keyring = createKeyring({
    url: service.url,
    secretKey,
    project,
    pollIntervalMs: 100,
    onError: ({ code, message }) => errors.push({ code, message }),
    onNotice: notice => notices.push(notice),
    ...options,
  })
  return { keyring, errors, notices }
}

/** A node that serves one key, before its service begins to misbehave. */
export async function serveOneKey(): Promise<{ service: FeedService; key: string; witness: Witness }> {
  const service = await startFeedService()
  const key = drawKey()
  service.upsert(policyKey(key, 1))
  const witness = openWitness(service)
  await witness.keyring.ready()
  return { service, key, witness }
}

/** The head of a valid body. */
const headOf = ({ version, clock }: FeedService) => ({
  workspace_id: workspaceId,
  project_id: project,
  env: 'live',
  version,
  project_deleted: false,
  generated_at: new Date(clock()).toISOString(),
})

export const snapshotOf = (service: FeedService, more: object) => ({
  body: { object: 'policy_snapshot', ...headOf(service), next_cursor: null, ...more },
})

export const deltaOf = (service: FeedService, changes: unknown[], more: object = {}) => ({
  body: { object: 'policy_delta', ...headOf(service), since: service.version, changes, ...more },
})
