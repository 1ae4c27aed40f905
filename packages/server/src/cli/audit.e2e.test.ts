import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ask, Installation, type Serving } from '../../test/installation.ts'

describe('keyrail audit verify', () => {
  let installation: Installation
  let service: Serving
  let token: string
  let text: string
  const file = (name: string, content: string) => {
    const folder = join(installation.place.temp, 'exports')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const verify = (...args: string[]) => installation.start(['audit', 'verify', ...args]).ended
  const chain = async () => (await ask(`${service.url}/v1/audit_logs/chain`, { token }))?.body

  before(async () => {
    installation = new Installation()
    service = await installation.serve()
    const made = await ask(`${service.url}/v1/workspaces`, {
      token: installation.token,
      body: { name: 'Acme', slug: 'acme', billing_email: 'billing@example.com' },
    })
    token = made?.body.secret_key.key
    for (const external_id of ['one', 'two', 'three'])
      await ask(`${service.url}/v1/tenants`, { token, body: { external_id } })
    const headers = { authorization: `Bearer ${token}` }
    text = await (await fetch(`${service.url}/v1/audit_logs/export`, { headers })).text()
  })
  after(() => installation.remove())

  test('an exported log verifies from a file and from a pipe, and its head is printed', async () => {
    const { head_hash } = await chain()
    const { code, out } = await verify(file('log', text))
    assert.equal(code, 0)
    assert.match(out, /^The log verifies: 5 rows of workspace [0-9a-f-]{36}\.\nIts last row, to note: 5:/)
    assert.ok(out.includes(`5:${head_hash}`))
    const piped = installation.run('/bin/sh', [
      '-c',
      `"${process.execPath}" bin/keyrail.mjs audit verify - --json < "${file('log', text)}"`,
    ])
    const verdict = JSON.parse((await piped.ended).out)
    assert.deepEqual([verdict.valid, verdict.checked, verdict.head_hash], [true, 5, head_hash])
  })

  test('it verifies against a noted head and against a kept checkpoint', async () => {
    const { head_hash, checkpoint } = await chain()
    const keys = await ask(`${service.url}/.well-known/audit-checkpoint-key`)
    const key = keys?.body.verifier_keys[0]
    const whole = file('log', text)
    const cut = file('cut', text.split('\n').slice(0, 3).join('\n'))
    const note = file('note', checkpoint)
    assert.equal((await verify(whole, '--head', `5:${head_hash}`)).code, 0)
    assert.equal((await verify(whole, '--checkpoint', note, '--key', key)).code, 0)
    assert.equal((await verify(cut)).code, 0)
    for (const against of [
      ['--head', `5:${head_hash}`],
      ['--checkpoint', note, '--key', key],
    ]) {
      const { code, out } = await verify(cut, ...against)
      assert.equal(code, 1)
      assert.match(out, /does NOT verify: head_mismatch at seq 4\. The 3 rows before it do/)
    }
    const forged = file('forged', checkpoint.replace('\n5\n', '\n3\n'))
    assert.match((await verify(cut, '--checkpoint', forged, '--key', key)).err, /not signed by this key/)
  })

  test('the verdict names a changed row', async () => {
    const { code, out } = await verify(file('changed', text.replace('"two"', '"TWO"')), '--json')
    assert.equal(code, 1)
    const { valid, first_bad_seq, reason } = JSON.parse(out)
    assert.deepEqual([valid, first_bad_seq, reason], [false, 4, 'hash_mismatch'])
  })

  test('unusable input gets a message without a stack', async () => {
    for (const [args, message] of [
      [['/no/such/file'], /cannot be read/],
      [[file('other', 'hello\n')], /Line 1 is not JSON/],
      [[file('log', text), '--head', '5:x'], /--head takes SEQ:HASH/],
      [[file('log', text), '--checkpoint', file('log', text)], /needs --key/],
    ] as const) {
      const { code, err } = await verify(...args)
      assert.equal(code, 1)
      assert.match(err, message)
      assert.doesNotMatch(err, /\n {4}at /)
    }
  })
})
