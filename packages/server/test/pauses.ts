import assert from 'node:assert/strict'
import { mintToken } from './embed.ts'
import type { AskApi, PrepareMutation } from './mutations.ts'
import { issueKey, makeTenant, type Scene } from './vendor.ts'

/** What is needed to make something over the API. */
interface Caller {
  readonly ask: AskApi
  readonly scene: Scene
}

/** A key that the vendor has paused. */
async function pausedKey(means: Caller): Promise<{ id: string }> {
  const { id } = await issueKey(means, means.scene)
  await pause(means, `/v1/keys/${id}/disable`, means.scene.live)
  return { id }
}

async function pause({ ask }: Caller, url: string, token: string): Promise<void> {
  const { status } = await ask('POST', url, { token })
  assert.equal(status, 200)
}

/**
 * A tenant with an embed token. Each call makes a tenant, because a tenant may make sixty keys a minute.
 * @returns the token and one of the tenant's keys.
 */
export async function makeWidget(means: Caller, isPaused = false): Promise<{ token: string; id: string }> {
  const { ask } = means
  const scene = { ...means.scene, tenantId: (await makeTenant(means, means.scene)).id }
  const { id } = await issueKey({ ask }, scene)
  // With another token, so that the audit log has nothing of the one that is returned.
  if (isPaused) await pause(means, `/v1/embed/keys/${id}/disable`, await mintToken({ ask }, scene))
  return { token: await mintToken({ ask }, scene), id }
}

/** The calls that pause and resume, by `operation`. */
export const pauses: Record<string, PrepareMutation> = {
  disableKey: async means => ({
    url: `/v1/keys/${(await issueKey(means, means.scene)).id}/disable`,
    token: means.scene.live,
  }),
  enableKey: async means => ({
    url: `/v1/keys/${(await pausedKey(means)).id}/enable`,
    token: means.scene.live,
  }),
  disableEmbedKey: async means => {
    const { token, id } = await makeWidget(means)
    return { url: `/v1/embed/keys/${id}/disable`, token }
  },
  enableEmbedKey: async means => {
    const { token, id } = await makeWidget(means, true)
    return { url: `/v1/embed/keys/${id}/enable`, token }
  },
}

/** What the columns of a pause take together, and what not. */
export const pauseValues = {
  ok: [
    '(null, null, null)',
    `(now(), null, 'vendor')`,
    `(now(), 'x', 'tenant')`,
    `(now(), repeat('x', 500), 'vendor')`,
  ],
  bad: [
    `(null, null, 'vendor')`,
    `(null, 'x', null)`,
    '(now(), null, null)',
    `(now(), null, 'service')`,
    `(now(), '', 'vendor')`,
    `(now(), repeat('x', 501), 'vendor')`,
  ],
}
