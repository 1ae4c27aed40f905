import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Harness } from './harness.ts'
import { issueKey, makeVendor, type Vendor } from './vendor.ts'

export interface Counted {
  key_id: string
  hour: string
  count: number
}
interface ReportOptions {
  id?: string
  rate?: number
  token?: string
}

/** A vendor whose servers report usage, with the figures that it reads. */
export interface Fleet extends Vendor {
  newKey(more?: Record<string, unknown>): Promise<string>
  newTenant(): Promise<string>
  /** @returns how many records were accepted and ignored. */
  report(records: readonly Counted[], options?: ReportOptions): Promise<[accepted: number, ignored: number]>
  /** The total of a key, and its days that are not empty. */
  daysOf(keyId: string, days?: number): Promise<{ total: number; days: Record<string, number> }>
  billing(months?: number): Promise<[month: string, tenants: number][]>
  /** Reads one page of tenants' months. */
  tenants(query?: string): Promise<Record<string, unknown>[]>
}

export async function makeFleet(harness: Harness): Promise<Fleet> {
  const vendor = await makeVendor(harness)
  const read = async (url: string) => {
    const heard = await harness.ask('GET', url, { token: vendor.live })
    assert.equal(heard.status, 200, JSON.stringify(heard.body))
    return heard.body
  }
  return {
    ...vendor,
    newKey: async more => (await issueKey(harness, vendor, more)).id,
    async newTenant() {
      const body = { external_id: randomUUID() }
      return (await harness.ask('POST', '/v1/tenants', { token: vendor.live, body })).body.id
    },
    async report(records, { id = randomUUID(), rate = 1, token = vendor.live } = {}) {
      const { status, body } = await harness.ask('POST', '/v1/usage/reports', {
        token,
        body: { report_id: id, sample_rate: rate, records },
      })
      assert.equal(status, 202, JSON.stringify(body))
      return [body.accepted, body.ignored]
    },
    async daysOf(keyId, days = 30) {
      const { total, data } = await read(`/v1/keys/${keyId}/usage?days=${days}`)
      const used: [string, number][] = data
        .filter((day: { request_count: number }) => day.request_count > 0)
        .map(({ date, request_count }: { date: string; request_count: number }) => [date, request_count])
      return { total, days: Object.fromEntries(used) }
    },
    async billing(months = 6) {
      const { data } = await read(`/v1/usage/billing?months=${months}`)
      return data.map((one: { month: string; billable_tenants: number }) => [one.month, one.billable_tenants])
    },
    tenants: async (query = '') => (await read(`/v1/usage/tenants?${query}`)).data,
  }
}
