import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeSecretKey, makeTenant, makeVendor } from '../../test/vendor.ts'
import { openVerify } from '../../test/verifying.ts'

const harness = await startHarness()
const { ask } = harness
const vendor = await makeVendor(harness)
const { live } = vendor
const { codeOf } = openVerify(harness, vendor)

const explain = async (id: string, more = '', token = live) =>
  (await ask('GET', `/v1/keys/${id}/explain${more}`, { token })).body
const explainText = (key: unknown, more: Record<string, unknown> = {}, token = live) =>
  ask('POST', '/v1/keys/explain', { token, body: { key, ...more } })

const tenantList = ['203.0.113.0/24', '2001:db8::/32']
const places: [
  own: string[] | null | undefined,
  tenant: string[],
  ip: string | null,
  code: string,
  why: RegExp,
][] = [
  [undefined, [], null, 'valid', /Neither the key nor its tenant has a list/],
  [undefined, [], '203.0.113.7', 'valid', /Neither the key nor its tenant has a list/],
  [[], tenantList, null, 'valid', /The list of the key itself is empty, whatever its tenant allows/],
  [
    null,
    tenantList,
    null,
    'ip_unknown',
    /from the networks of its tenant alone: 203\.0\.113\.0\/24, 2001:db8::\/32/,
  ],
  [
    null,
    tenantList,
    '203.0.113.7',
    'valid',
    /^203\.0\.113\.7 is in 203\.0\.113\.0\/24, a network of its tenant\.$/,
  ],
  [null, tenantList, '::ffff:203.0.113.7', 'valid', /^203\.0\.113\.7 is in 203\.0\.113\.0\/24/],
  [null, tenantList, '2001:DB8::1', 'valid', /^2001:db8::1 is in 2001:db8::\/32, a network of its tenant/],
  [
    null,
    tenantList,
    '192.0.2.1',
    'ip_not_allowed',
    /is in no network of its tenant: 203\.0\.113\.0\/24, 2001:db8::\/32\.$/,
  ],
  [
    ['10.0.0.0/8'],
    tenantList,
    null,
    'ip_unknown',
    /from the networks of the key itself alone: 10\.0\.0\.0\/8/,
  ],
  [
    ['10.0.0.0/8'],
    tenantList,
    '203.0.113.7',
    'ip_not_allowed',
    /is in no network of the key itself: 10\.0\.0\.0\/8\.$/,
  ],
  [['10.0.0.0/8'], [], '10.255.255.255', 'valid', /is in 10\.0\.0\.0\/8, a network of the key itself\.$/],
]
for (const [own, tenant, ip, code, why] of places) {
  const list = (cidrs: string[] | null | undefined) => JSON.stringify(cidrs) ?? 'none'
  test(`own list ${list(own)}, tenant ${list(tenant)}, address ${ip}: ${code}`, async () => {
    const { id: tenant_id } = await makeTenant(harness, vendor, { allowed_cidrs: tenant })
    const { id, key } = await issueKey(harness, vendor, {
      tenant_id,
      ...(own !== undefined && { allowed_cidrs: own }),
    })
    const more = ip === null ? {} : { ip }
    const [byId, byText] = [
      await explain(id, ip === null ? '' : `?ip=${ip}`),
      (await explainText(key, more)).body,
    ]
    assert.deepEqual([await codeOf(key, more), byId.code, byText.code], [code, code, code])
    const about = ({ code }: { code: string }) => code === 'ip_unknown' || code === 'ip_not_allowed'
    const reasons = byId.reasons.filter(about)
    assert.deepEqual(byText.reasons.filter(about), reasons)
    assert.deepEqual(
      reasons.map(({ code, applies }: Record<string, unknown>) => [code, applies]),
      ['ip_unknown', 'ip_not_allowed'].map(one => [one, one === code]),
    )
    const told = code === 'ip_unknown' ? reasons[0] : reasons[1]
    assert.match(told.detail, why)
  })
}

test('networks come behind the expiry, and who sees no tenant sees no list of it', async () => {
  const { id: tenant_id } = await makeTenant(harness, vendor, { allowed_cidrs: tenantList })
  const { id } = await issueKey(harness, vendor, { tenant_id, expires_at: '2020-01-01T00:00:00.000Z' })
  const { code, reasons } = await explain(id, '?scopes=a&ip=192.0.2.1')
  const applying = reasons.filter(({ applies }: { applies: boolean }) => applies)
  assert.deepEqual(
    [code, applying.map(({ code }: { code: string }) => code)],
    ['expired_key', ['expired_key', 'ip_not_allowed', 'insufficient_scope']],
  )
  const { key: token } = await makeSecretKey(harness, vendor, { permissions: ['keys:read'] })
  for (const ip of ['203.0.113.7', '192.0.2.1']) {
    const blind = await explain(id, `?ip=${ip}`, token)
    assert.doesNotMatch(JSON.stringify(blind.reasons), /203\.0\.113\.0|2001:db8/)
    assert.match(JSON.stringify(blind.reasons), /of its tenant\./)
  }
})
