import { createKeyring, type Keyring, type KeyringOptions, type Notice } from '../../src/index.ts'
import { type FeedService, projectId, secretKey, startFeedService, workspaceId } from '../feed-service.ts'
import { drawKey, policyKey } from '../keys.ts'

/** A node before a service that misbehaves, what it was told, and when it asked. */
export interface Witness {
  keyring: Keyring
  errors: { code: string; message: string }[]
  notices: Notice[]
  /** When each request left, on the clock of this process, in milliseconds. */
  sentAt: number[]
}

/** A keyring that asks often, so that a test need not wait. */
export function openWitness(service: FeedService, options: Partial<KeyringOptions> = {}): Witness {
  const errors: Witness['errors'] = []
  const notices: Notice[] = []
  const sentAt: number[] = []
  const keyring = createKeyring({
    baseUrl: service.url,
    secretKey,
    projectId,
    pollIntervalMs: 100,
    onError: ({ code, message }) => errors.push({ code, message }),
    onNotice: notice => notices.push(notice),
    fetch: (input, init) => {
      sentAt.push(performance.now())
      return fetch(input, init)
    },
    ...options,
  })
  return { keyring, errors, notices, sentAt }
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

/** The head of a body that the service could have sent now. */
export const headOf = ({ version }: FeedService) => ({
  workspace_id: workspaceId,
  project_id: projectId,
  env: 'live',
  version,
  project_deleted: false,
  generated_at: new Date().toISOString(),
})

export const snapshotOf = (service: FeedService, more: object) => ({
  body: { object: 'policy_snapshot', ...headOf(service), next_cursor: null, ...more },
})

export const deltaOf = (service: FeedService, changes: unknown[], more: object = {}) => ({
  body: { object: 'policy_delta', ...headOf(service), since: service.version, changes, ...more },
})
