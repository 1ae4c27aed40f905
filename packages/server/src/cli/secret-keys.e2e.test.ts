import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { presets } from '@keyrail/contract/vendor/permissions'
import { ask, Installation, looksLikeStack, type Serving } from '../../test/installation.ts'

describe('keyrail secret-keys create', () => {
  let installation: Installation
  let service: Serving
  let workspace: string
  before(async () => {
    installation = new Installation()
    service = await installation.serve()
    const body = { name: 'Acme', slug: 'acme' }
    workspace = (await ask(`${service.url}/v1/workspaces`, { token: installation.token, body }))?.body.id
  })
  after(() => installation.remove())

  const create = (...flags: string[]) => installation.start(['secret-keys', 'create', ...flags]).ended

  test('prints only the key to standard output, and it works over HTTP at once', async () => {
    const made = await create(
      '--workspace',
      workspace,
      '--env',
      'live',
      '--role',
      'owner',
      '--name',
      'Way in',
    )
    assert.equal(made.code, 0, made.err)
    assert.match(made.out, /^krsk_live_[0-9A-Za-z]{38}\n$/)
    const token = made.out.trim()
    const keys = await ask(`${service.url}/v1/secret_keys`, { token })
    assert.equal(keys?.status, 200)
    const [key] = keys?.body.data ?? []
    assert.deepEqual(
      [key.name, key.role, key.env, key.created_by],
      ['Way in', 'owner', 'live', { type: 'operator', id: null }],
    )

    const audit = await ask(`${service.url}/v1/audit_logs?limit=200`, { token })
    const row = audit?.body.data.at(-1)
    assert.deepEqual(
      [row.action, row.actor_type, row.target_id, row.env],
      ['secret_key.created', 'operator', key.id, 'live'],
    )
    assert.ok(!JSON.stringify(audit?.body).includes(token), 'no log contains the key')
    assert.equal((await ask(`${service.url}/v1/audit_logs/chain`, { token }))?.body.valid, true)
  })

  test('--json prints it as the API would', async () => {
    const made = await create('--workspace', workspace.toUpperCase(), '--env=test', '--role=admin', '--json')
    const key = JSON.parse(made.out)
    assert.deepEqual([key.object, key.env, key.role, key.name], ['secret_key', 'test', 'admin', null])
    assert.equal((await ask(`${service.url}/v1/workspace`, { token: key.key }))?.body.id, workspace)
  })

  test('its limits are stored, with the names of the API', async () => {
    const made = (role: string, ...flags: string[]) =>
      create('--workspace', workspace, '--env', 'live', '--role', role, '--json', ...flags)
    const owner = JSON.parse((await made('owner')).out)
    assert.deepEqual([owner.permissions, owner.project_ids, owner.allowed_cidrs], [null, null, null])
    const body = { name: 'Payments', slug: 'payments' }
    const project = (await ask(`${service.url}/v1/projects`, { token: owner.key, body }))?.body.id

    const cidrs = ['--cidr', '127.0.0.0/8', '--cidr', '::ffff:10.0.0.0/104']
    const { out, err } = await made('admin', '--preset', 'node', '--project', project, ...cidrs)
    const node = JSON.parse(out || err)
    assert.deepEqual(node.permissions, presets.node)
    assert.deepEqual([node.project_ids, node.allowed_cidrs], [[project], ['127.0.0.0/8', '10.0.0.0/8']])
    const feed = await ask(`${service.url}/v1/policy/snapshot?project_id=${project}`, { token: node.key })
    assert.equal(feed?.status, 200)
    const keys = await ask(`${service.url}/v1/keys`, { token: node.key })
    assert.deepEqual([keys?.status, keys?.body.code], [403, 'insufficient_permission'])

    const two = JSON.parse((await made('admin', '--permission', 'keys:write', 'keys:read')).out)
    assert.deepEqual(two.permissions, ['keys:read', 'keys:write'])
  })

  test('missing or invalid flags are reported at once; without a terminal nothing is asked', async () => {
    const whole = ['--workspace', workspace, '--env', 'live', '--role', 'owner']
    const cases: [flags: string[], message: RegExp][] = [
      [[], /Missing: --workspace ID, --env live\|test, --role owner\|admin/],
      [['--workspace', 'acme', '--env', 'live', '--role', 'owner'], /"acme" is not a workspace id/],
      [['--workspace', workspace, '--env', 'prod', '--role', 'owner'], /Allowed choices are live, test/],
      [['--workspace', workspace, '--env', 'live', '--role', 'member'], /Allowed choices are owner, admin/],
      [
        ['--workspace', workspace, '--env', 'live', '--role', 'owner', '--name', 'x'.repeat(201)],
        /A name has 1 to 200 characters/,
      ],
      [[...whole, '--name', '\u200b'], /The name must have at least one visible character/],
      [
        [...whole, '--name', 'gnp.\u202efdp'],
        /The name must not have U\+202E, which changes the direction of text/,
      ],
      [
        ['--workspace', '01890000-0000-7000-8000-000000000000', '--env', 'live', '--role', 'owner'],
        /Workspace 01890000-0000-7000-8000-000000000000 does not exist/,
      ],
      [[...whole, '--preset', 'all'], /Allowed choices are node, embed/],
      [[...whole, '--permission', 'keys'], /Allowed choices are policy:read, /],
      [[...whole, '--preset', 'node', '--permission', 'keys:read'], /cannot be used with option/],
      [[...whole, '--project', 'payments'], /"payments" is not a project id/],
      [[...whole, '--project', workspace], /One of the projects is not in the workspace/],
      [[...whole, '--cidr', '10.0.0.1/8'], /"10.0.0.1\/8" has bits set after its prefix of 8/],
    ]
    for (const [flags, message] of cases) {
      const { code, out, err } = await create(...flags)
      assert.deepEqual([code, out], [1, ''], err)
      assert.match(err, message)
      assert.ok(!looksLikeStack(err), err)
    }
  })
})
