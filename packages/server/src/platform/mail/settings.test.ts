import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { defaultSender, isSendable, readMailbox } from './address.ts'
import { MailRouteRefused, readMailRoute } from './route.ts'
import { readMailSettings } from './settings.ts'

test('a mail server is given as a URL, with a percent-encoded login', () => {
  const plain = { kind: 'smtp', secure: false, login: null }
  assert.deepEqual(readMailRoute('smtp://mail.example.com'), {
    ...plain,
    host: 'mail.example.com',
    port: 587,
    upgrade: 'offered',
  })
  assert.deepEqual(readMailRoute('smtp://[::1]:25/?tls=never'), {
    ...plain,
    host: '::1',
    port: 25,
    upgrade: 'never',
  })
  assert.deepEqual(readMailRoute('smtps://us%40er:p%3A%2F%23w%20%C3%A9@mail.example.com'), {
    kind: 'smtp',
    host: 'mail.example.com',
    port: 465,
    secure: true,
    upgrade: 'required',
    login: { user: 'us@er', password: 'p:/#w é' },
  })
})

test('a login is sent over TLS unless the URL says otherwise', () => {
  const upgradeOf = (text: string) => {
    const route = readMailRoute(text)
    return route.kind === 'smtp' && route.upgrade
  }
  assert.equal(upgradeOf('smtp://user:hush@a'), 'required')
  assert.equal(upgradeOf('smtp://user:hush@a?tls=offered'), 'offered')
  assert.equal(upgradeOf('smtp://a?tls=required'), 'required')
})

test('a folder is given as a path, absolute or relative, percent-encoded', () => {
  for (const [text, path] of [
    ['file:///srv/my%20mail', '/srv/my mail'],
    ['file:/srv/mail/', '/srv/mail'],
    ['file:./mail', resolve('mail')],
    ['file:mail', resolve('mail')],
  ] as const)
    assert.deepEqual(readMailRoute(text), { kind: 'folder', path }, text)
})

test('anything but a mail server or a folder is refused, without its password', () => {
  for (const text of [
    'mail.example.com',
    'http://mail.example.com',
    'smtp://',
    'smtp://:hush@a',
    'smtp://user:hush@a/path',
    'smtp://user:hush@a#part',
    'smtp://user:hush@a?tls=maybe',
    'smtp://user:hush@a?tls=never&tls=never',
    'smtp://user:hush@a?pool=true',
    'smtp://user:hush%zz@a',
    'smtp://user:hush@a:99999',
    'file:',
    'file://host/mail',
    'file:/a%00b',
    'file:/%zz',
  ])
    assert.throws(
      () => readMailRoute(text),
      error => error instanceof MailRouteRefused && !/hush/.test(error.message),
      text,
    )
})

test('a sender is a name and an address, or an address', () => {
  const address = 'no-reply@example.com'
  for (const [text, name] of [
    [address, ''],
    [`<${address}>`, ''],
    [` Keyrail  <${address}> `, 'Keyrail'],
    [`Schlüssel & Söhne <${address}>`, 'Schlüssel & Söhne'],
    [`"Acme, \\"Inc\\"" <${address}>`, 'Acme, "Inc"'],
  ] as const)
    assert.deepEqual(readMailbox(text), { name, address }, text)
  for (const text of [
    '',
    'Keyrail',
    'a@b, c@d',
    'A <a@b>, B <c@d>',
    `A\r\nBcc: x@y <${address}>`,
    'A <a b@c>',
    'a@b>',
  ])
    assert.equal(readMailbox(text), null, text)
})

test('an address that could be read as two, or as a header, is not sendable', () => {
  for (const address of [
    'ann@example.com',
    "o'neil+x@example.com",
    'änn@exämple.com',
    'a@[127.0.0.1]',
    'a@[IPv6:::1]',
  ])
    assert.equal(isSendable(address), true, address)
  for (const address of [
    '',
    '@',
    'a@',
    '@b',
    'a b@c',
    'a@b,c@d',
    'a@b;c@d',
    'a@b@c',
    '"a@b"@c',
    'a@b (x)',
    '<a@b>',
    'a@b\r\nBcc: x@y',
    'a@b\n',
    'a@b\0',
    'a@b\u2028',
    'a\u00a0@b',
    'a@b\\',
    '\ud800@b',
    `${'a'.repeat(320)}@b`,
  ])
    assert.equal(isSendable(address), false, JSON.stringify(address))
})

test('by default mail goes into the data directory, from the host of the public URL', () => {
  const nothing = { url: null, from: null, ehloName: null, publicUrl: null, dataDir: '/srv/100% keyrail/#1' }
  const faults: string[] = []
  const settings = readMailSettings(nothing, (setting, message) => faults.push(`${setting} ${message}`))
  assert.deepEqual(settings, {
    route: { kind: 'folder', path: '/srv/100% keyrail/#1/mail' },
    from: { name: 'Keyrail', address: 'no-reply@localhost' },
  })
  assert.deepEqual(faults, [])
  for (const [url, host] of [
    ['https://keys.example.com:8443/at', 'keys.example.com'],
    ['http://127.0.0.1:8080', '[127.0.0.1]'],
    ['http://[::1]:8080', '[IPv6:::1]'],
  ] as const) {
    const { address } = defaultSender(url)
    assert.equal(address, `no-reply@${host}`)
    assert.ok(isSendable(address), address)
  }
})
