import assert from 'node:assert/strict'
import type { Harness } from './harness.ts'
import type { Vendor } from './vendor.ts'

/** Requests the policy feed of a vendor's project, with its live key unless another one is given. */
export const askFeed =
  ({ ask }: Harness) =>
  (vendor: Vendor, path: 'snapshot' | 'delta', more = '', headers = {}, token = vendor.live) =>
    ask('GET', `/v1/policy/${path}?project_id=${vendor.projectId}${more}`, { token, headers })

export const idsOf = (body: { keys: { key_id: string }[] }) => body.keys.map(key => key.key_id)
export const changesOf = (body: { changes: { change: string; key_id: string }[] }) =>
  body.changes.map(({ change, key_id }) => [change, key_id])

/** Reads a snapshot to its last page. */
export async function walkSnapshot(harness: Harness, vendor: Vendor, size: number) {
  const get = askFeed(harness)
  const pages = []
  for (let cursor = ''; ; ) {
    const { status, body } = await get(vendor, 'snapshot', `&max_keys=${size}${cursor}`)
    assert.equal(status, 200)
    pages.push(body)
    if (body.next_cursor === null) return pages
    cursor = `&cursor=${body.next_cursor}`
  }
}
