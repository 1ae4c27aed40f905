import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Api, TimedAnswer } from './api.ts'
import { makeDrillScene } from './scene.ts'

/** Answers with these statuses, then with 201. */
function apiOf(statuses: readonly number[]): { api: Api; slugs: string[] } {
  const left = [...statuses]
  const slugs: string[] = []
  const api: Api = {
    async ask(_method, url, { body } = {}) {
      if (url === '/v1/workspaces') slugs.push((body as { slug: string }).slug)
      const made = { id: url, secret_key: { id: 'a', key: 'b' } }
      return { status: left.shift() ?? 201, body: made, headers: {}, ms: 0 } as TimedAnswer
    },
    close() {},
  }
  return { api, slugs }
}

test('a scene is made anew when the service answers 503', async () => {
  const { api, slugs } = apiOf([503, 201, 503])
  const { live, projectId, tenantId } = await makeDrillScene(api)
  assert.deepEqual([live, projectId, tenantId], ['b', '/v1/projects', '/v1/tenants'])
  assert.equal(new Set(slugs).size, 3)
})

test('a scene is not made anew for any other answer', async () => {
  const { api, slugs } = apiOf([409])
  await assert.rejects(makeDrillScene(api), { actual: 409 })
  assert.equal(slugs.length, 1)
})
