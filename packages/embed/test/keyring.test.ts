import assert from 'node:assert/strict'
import { test } from 'node:test'

// What the element draws from, with a client that plays. Its types are those of a browser.
const source = (name: string) => new URL(`../src/${name}`, import.meta.url).href
const { EmbedError } = await import(source('client/embed-error.ts'))
const { createKeyring } = await import(source('widget/keyring.ts'))
const { pausedBy } = await import(source('widget/key-words.ts'))

test('an answer about the tenant before is not drawn, even if it came first', async () => {
  const answers: ((session: object) => void)[] = []
  const keyring = createKeyring({ session: () => new Promise(resolve => answers.push(resolve)) }, () => {})
  const drawn = new Set<string | undefined>()
  keyring.subscribe(() => drawn.add(keyring.shown().session?.tenant))
  const sessionOf = (tenant: string) => ({ tenant, can: { read: false } })
  void keyring.load()
  answers[0]?.(sessionOf('a'))
  keyring.onTokenChange('tenant')
  await new Promise(setImmediate)
  answers[1]?.(sessionOf('b'))
  await new Promise(setImmediate)
  assert.deepEqual([...drawn], [undefined, 'b'])
})

test('a client that only throws tenant_changed is asked once more, and what it showed is gone', async () => {
  let refusals = 0
  let keysOf = 'a'
  const refuse = () => {
    if (refusals === 0) return
    refusals -= 1
    throw new EmbedError('tenant_changed', 'Another tenant.')
  }
  const keyring = createKeyring(
    {
      async session() {
        refuse()
        return { tenant: keysOf, can: { read: false } }
      },
      create: async () => refuse(),
    },
    () => {},
  )
  await keyring.load()
  keysOf = 'b'
  refusals = 1
  await keyring.load()
  const { session, isLoading, tenants } = keyring.shown()
  assert.deepEqual([session.tenant, isLoading, tenants], ['b', false, 1])
  keysOf = 'c'
  refusals = 1
  await assert.rejects(keyring.create({ scopes: [] }), { code: 'tenant_changed' })
  await new Promise(setImmediate)
  assert.deepEqual([keyring.shown().session.tenant, keyring.shown().tenants], ['c', 2])
  refusals = 9
  await keyring.load()
  assert.equal(refusals, 7)
  assert.equal(keyring.shown().session, null)
  assert.deepEqual([keyring.shown().trouble?.code, keyring.shown().isLoading], ['tenant_changed', false])
})

test('a change that an outdated list has offered loads it once, whatever that load finds', async () => {
  let loads = 0
  let code = 'key_not_active'
  const refuse = async () => {
    throw new EmbedError(code, 'The test refuses.')
  }
  const keyring = createKeyring(
    {
      async session() {
        loads += 1
        if (loads === 3) await refuse()
        return { tenant: { suspended: loads > 1 }, can: { read: false } }
      },
      disable: refuse,
    },
    () => {},
  )
  await keyring.load()
  await assert.rejects(keyring.pause({ id: 'a' }), { code })
  // Before the change fails, so that its dialog can say why.
  assert.deepEqual([loads, keyring.shown().session.tenant.suspended], [2, true])
  code = 'insufficient_scope'
  await assert.rejects(keyring.pause({ id: 'a' }), { code })
  await new Promise(setImmediate)
  assert.deepEqual([loads, keyring.shown().trouble?.code], [3, code])
  code = 'key_limit_reached'
  await assert.rejects(keyring.pause({ id: 'a' }), { code })
  assert.equal(loads, 3)
})

test('a client that its page has closed leaves no list loading, and raises no event', async () => {
  const events: string[] = []
  const keyring = createKeyring(
    {
      async session() {
        throw new EmbedError('closed', 'The client is closed.')
      },
    },
    (name: string) => events.push(name),
  )
  await keyring.load()
  assert.deepEqual([keyring.shown().trouble?.code, keyring.shown().isLoading], ['closed', false])
  assert.deepEqual(events, [])
})

test('a pause is shown beside the session of an older process, which names no vendor', () => {
  const words = { text: (name: string, values: object = {}) => `${name} ${JSON.stringify(values)}` }
  const at = { words, keyring: { shown: () => ({ session: { can: {} } }) } }
  const paused = { disabled_at: '2026-01-01T00:00:00.000Z', disabled_by: 'vendor' }
  assert.equal(pausedBy(paused, at), 'pausedBy {"vendor":""}')
  assert.equal(pausedBy({}, at), null)
})
