import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ask, Installation, type Serving } from '../../test/installation.ts'

describe('keyrail person erase', () => {
  let installation: Installation
  let service: Serving
  before(async () => {
    installation = new Installation()
    service = await installation.serve()
  })
  after(() => installation.remove())

  const password = 'a walk in the park'
  /** Signs up and in. @returns the session's token. */
  const enter = async (email: string): Promise<string> => {
    await ask(`${service.url}/v1/auth/users`, { body: { email, password } })
    return (await ask(`${service.url}/v1/auth/sessions`, { body: { email, password } }))?.body.token
  }
  const erase = (...flags: string[]) => installation.start(['person', 'erase', ...flags]).ended
  const me = async (token: string) => (await ask(`${service.url}/v1/auth/me`, { token }))?.status

  test('without a terminal it requires --yes, and does nothing otherwise', async () => {
    const token = await enter('asked.first@example.com')
    const { code, out, err } = await erase('asked.first@example.com')
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /erases the person for good\. Confirm with --yes/)
    assert.equal(await me(token), 200)
  })

  test('beside a running service it ends the sessions, and the address can sign up again', async () => {
    const token = await enter('gone@example.com')
    const { code, out } = await erase('Gone@Example.com', '--yes', '--json')
    assert.equal(code, 0)
    const report = JSON.parse(out)
    assert.deepEqual([report.removed.users, report.removed.sessions], [1, 1])
    assert.equal(await me(token), 401)
    assert.equal(await me(await enter('gone@example.com')), 200)
  })

  test('the only owner of a workspace is refused, with the workspace’s name', async () => {
    const token = await enter('owner@example.com')
    await ask(`${service.url}/v1/workspaces`, { token, body: { name: 'Acme', slug: 'acme-alone' } })
    const { code, err } = await erase('owner@example.com', '--yes')
    assert.equal(code, 1)
    assert.match(err, /the only owner of acme-alone/)
    assert.equal(await me(token), 200)
  })

  test('an unknown address is reported', async () => {
    const { code, err } = await erase('nobody@example.com', '--yes')
    assert.equal(code, 1)
    assert.match(err, /This address is unknown/)
  })
})
