import assert from 'node:assert/strict'
import type { PrepareMutation } from './mutations.ts'
import { issueKey, makeTenant } from './vendor.ts'

/** The calls that suspend and resume a tenant, by `operation`. The tenant has a key, so that nodes have something to learn. */
export const suspensions: Record<string, PrepareMutation> = {
  suspendTenant: async means => {
    const { id } = await makeTenant(means, means.scene)
    await issueKey(means, { ...means.scene, tenantId: id })
    return { url: `/v1/tenants/${id}/suspend`, token: means.scene.live }
  },
  resumeTenant: async means => {
    const { url, token } = await (suspensions.suspendTenant as PrepareMutation)(means)
    assert.equal((await means.ask('POST', url, { token })).status, 200)
    return { url: url.replace('/suspend', '/resume'), token }
  },
}

/** What the columns of a suspension take together, and what not. */
export const suspensionValues = {
  ok: ['(null, null)', '(now(), null)', `(now(), 'x')`, `(now(), repeat('x', 500))`],
  bad: [`(null, 'x')`, `(now(), '')`, `(now(), repeat('x', 501))`],
}
