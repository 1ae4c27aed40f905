import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ask, Installation, looksLikeStack, type Serving } from '../../../test/installation.ts'

describe('keyrail workspace delete', () => {
  let installation: Installation
  let service: Serving
  before(async () => {
    // Keeps look-ups long enough for the test to find one.
    installation = new Installation({ SERVICE_HOT_AUTH_CACHE_MS: '60000' })
    service = await installation.serve()
  })
  after(() => installation.remove())

  const create = async (slug: string) => {
    const body = { name: 'Acme', slug }
    const made = await ask(`${service.url}/v1/workspaces`, { token: installation.token, body })
    return { status: made?.status, id: made?.body.id as string, token: made?.body.secret_key?.key as string }
  }
  const remove = (...flags: string[]) => installation.start(['workspace', 'delete', ...flags]).ended

  test('without a terminal it requires --yes, and does nothing otherwise', async () => {
    const { id, token } = await create('asked-first')
    const { code, out, err } = await remove(id)
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /removes the workspace "asked-first" .* for good\. Confirm with --yes/)
    assert.equal((await ask(`${service.url}/v1/workspace`, { token }))?.status, 200)
  })

  test('beside a running service it ends the credentials and frees the slug', async () => {
    const { id, token } = await create('acme')
    const { token: other } = await create('bystander')
    const { code, out } = await remove(id, '--yes', '--json')
    assert.equal(code, 0)
    const report = JSON.parse(out)
    assert.deepEqual([report.id, report.slug], [id, 'acme'])
    assert.equal(report.removed.workspaces, 1)
    assert.equal((await ask(`${service.url}/v1/workspace`, { token }))?.status, 401)
    assert.equal((await ask(`${service.url}/v1/workspace`, { token: other }))?.status, 200)
    assert.equal((await ask(`${service.url}/v1/audit_logs/chain`, { token: other }))?.body.valid, true)
    assert.equal((await create('acme')).status, 201)
  })

  test('at a terminal you type the slug to confirm', async () => {
    const { id, token } = await create('typed')
    // script(1) gives the command its own terminal; the pipe types there.
    const shell = `stty cols 100 rows 40; "${process.execPath}" bin/keyrail.mjs workspace delete ${id}`
    /** Waits, within a minute, until the terminal has shown a text. */
    const shown = (text: string) =>
      `looks=0; until grep -qs '${text}' "$0" || [ $looks -ge 600 ]; do looks=$((looks+1)); sleep 0.1; done`
    const typed = (name: string, keys: string) => {
      const feed = `( ${shown('to confirm')}; ${keys} ) | script -qefc '${shell}' "$0"`
      return installation.run('/bin/sh', ['-c', feed, `${installation.place.temp}/${name}`]).ended
    }
    const refused = await typed('refused', `printf 'wrong\\r'; ${shown('The slug is typed')}; printf '\\003'`)
    assert.match(refused.out, /The slug is typed\./)
    assert.notEqual(refused.code, 0)
    assert.equal((await ask(`${service.url}/v1/workspace`, { token }))?.status, 200)
    const done = await typed('done', `printf 'typed\\r'; ${shown('is removed')}`)
    assert.equal(done.code, 0, done.out)
    assert.equal((await ask(`${service.url}/v1/workspace`, { token }))?.status, 401)
  })

  test('run again after an interruption, it removes the rest, and then knows no workspace', async () => {
    const { id, token } = await create('broken-off')
    const claim = { scope_hash: '0'.repeat(64), env: 'live', fingerprint: '0'.repeat(64) }
    await ask(`${service.url}/v1/idempotency/claim`, { token, body: claim })
    assert.equal((await remove(id, '--yes')).code, 0)
    // For some seconds the process uses its look-up: this row is like one that an interrupted command leaves.
    const late = await ask(`${service.url}/v1/idempotency/claim`, { token, body: claim })
    assert.equal(late?.status, 200)
    const { code, out } = await remove(id, '--json')
    assert.deepEqual([code, JSON.parse(out).removed.idempotency_claims], [0, 1])
    assert.match((await remove(id)).err, /Workspace .* does not exist/)
  })

  test('an unknown or malformed id is a clear error', async () => {
    for (const [id, message] of [
      ['acme', /"acme" is not a workspace id/],
      [
        '01890000-0000-7000-8000-000000000000',
        /Workspace 01890000-0000-7000-8000-000000000000 does not exist/,
      ],
    ] as const) {
      const { code, err } = await remove(id, '--yes')
      assert.equal(code, 1)
      assert.match(err, message)
      assert.ok(!looksLikeStack(err), err)
    }
  })
})

describe('keyrail workspace adopt', () => {
  let installation: Installation
  let service: Serving
  before(async () => {
    installation = new Installation()
    service = await installation.serve()
  })
  after(() => installation.remove())
  const adopt = (...args: string[]) => installation.start(['workspace', 'adopt', ...args]).ended

  test('it gives a workspace without members to a person, once, and the audit log says so', async () => {
    const body = { name: 'Acme', slug: 'acme' }
    const made = await ask(`${service.url}/v1/workspaces`, { token: installation.token, body })
    const token = made?.body.secret_key.key as string
    const id = made?.body.id as string
    const nobody = await adopt(id, 'ann@example.com')
    assert.equal(nobody.code, 1)
    assert.match(nobody.err, /No account has the address ann@example\.com/)
    for (const email of ['ann@example.com', 'bea@example.com'])
      await ask(`${service.url}/v1/auth/users`, { body: { email, password: 'a long enough word' } })
    const given = await adopt(id, 'Ann@example.com', '--json')
    assert.deepEqual(
      [given.code, JSON.parse(given.out)],
      [0, { id, name: 'Acme', slug: 'acme', role: 'owner' }],
    )
    const members = await ask(`${service.url}/v1/members`, { token })
    assert.deepEqual(
      members?.body.data.map((one: { email: string }) => one.email),
      ['ann@example.com'],
    )
    const log = await ask(`${service.url}/v1/audit_logs`, { token })
    const row = log?.body.data.at(-1)
    assert.deepEqual([row.action, row.actor_type], ['workspace_member.joined', 'operator'])
    const again = await adopt(id, 'bea@example.com')
    assert.equal(again.code, 1)
    assert.match(again.err, /The workspace has members\./)
    assert.match((await adopt('nothing', 'ann@example.com')).err, /is not a workspace id/)
  })
})

describe('keyrail workspace list', () => {
  const installation = new Installation()
  after(() => installation.remove())
  const list = (...args: string[]) => installation.start(['workspace', 'list', ...args]).ended

  test('it lists the busiest first, by what a service wrote when it stopped', async () => {
    const service = await installation.serve()
    const create = async (slug: string) => {
      const body = { name: `The ${slug}`, slug }
      const made = await ask(`${service.url}/v1/workspaces`, { token: installation.token, body })
      return { id: made?.body.id as string, token: made?.body.secret_key.key as string }
    }
    const [quiet, busy] = [await create('quiet'), await create('busy')]
    for (let at = 0; at < 5; at++)
      await ask(`${service.url}/v1/tenants`, { token: busy.token, body: { external_id: `org_${at}` } })
    await ask(`${service.url}/v1/workspace`, { token: quiet.token })
    service.child.kill('SIGTERM')
    await service.ended

    const shown = await list()
    assert.equal(shown.code, 0, shown.err)
    const [head, first, second, ...more] = shown.out.trimEnd().split('\n')
    assert.match(head ?? '', /^WORKSPACE +ID +REQUESTS +CONNECTIONS$/)
    assert.match(first ?? '', new RegExp(`^busy +${busy.id}  5 +\\d+\\.\\d s$`))
    assert.match(second ?? '', new RegExp(`^quiet +${quiet.id}  1 +\\d+\\.\\d s$`))
    assert.deepEqual(more, [])

    const { out } = await list('--by', 'rows', '--limit', '1', '--json')
    const [{ rows, largest, ...label }, ...others] = JSON.parse(out)
    assert.deepEqual(label, { id: busy.id, name: 'The busy', slug: 'busy' })
    // The workspace itself, its secret key and its tenants.
    assert.deepEqual([largest, others], [{ table: 'audit_logs', rows: 7 }, []])
    assert.ok(rows > 12, String(rows))
    const connections = JSON.parse((await list('--by', 'connections', '--json')).out)
    const times = connections.map(({ connection_ms }: { connection_ms: number }) => connection_ms)
    assert.equal(times.length, 2)
    // One slow request of the quiet workspace can take longer than all of the busy one.
    assert.ok(times[0] >= times[1] && times[1] > 0, String(times))
  })

  test('a measure or a number that it does not know is a clear error', async () => {
    for (const [flags, message] of [
      [['--by', 'noise'], /requests, connections, rows/],
      [['--limit', '0'], /--limit must be a whole number from 1 to 10000/],
      [['--limit', 'many'], /--limit must be a whole number/],
    ] as const) {
      const { code, err, out } = await list(...flags)
      assert.deepEqual([code, out], [1, ''])
      assert.match(err, message)
      assert.ok(!looksLikeStack(err), err)
    }
  })
})
