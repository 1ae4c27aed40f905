import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { simpleParser } from 'mailparser'
import { openTransport } from './mail.ts'
import type { Postmark } from './message.ts'
import { NotSent } from './transport.ts'

const base = mkdtempSync(join(tmpdir(), 'keyrail-mail-'))
after(() => rmSync(base, { recursive: true, force: true }))
const url = `https://keys.example.com/verify-email#token=${'1'.repeat(36)}.${'A'.repeat(43)}`
const letter = {
  to: 'ann@example.com',
  subject: 'Größe',
  paragraphs: ['Grüße aus Zürich, mit einer Zeile, die nicht ASCII ist.'],
  action: { label: 'Verify', url },
}
const postmark = (at: string, id: string): Postmark => ({
  from: { name: 'Keyrail', address: 'no-reply@example.com' },
  at: new Date(at),
  id: id.repeat(16),
})
const signal = new AbortController().signal

test('each message is a file of its owner alone, whole, with its link in one piece, in the order of time', async () => {
  const path = join(base, 'not/there/yet')
  const folder = await openTransport({ kind: 'folder', path })
  await folder.verify()
  const umask = process.umask(0)
  try {
    await folder.send(letter, 'verification', postmark('2026-01-31T09:30:00.125Z', 'ff'), signal)
    await folder.send(
      { ...letter, subject: 'Later' },
      'reset',
      postmark('2026-01-31T09:30:00.126Z', '00'),
      signal,
    )
  } finally {
    process.umask(umask)
  }
  const names = readdirSync(path)
  assert.deepEqual(names, [
    '20260131T093000.125Z-verification-ffffffffffff.eml',
    '20260131T093000.126Z-reset-000000000000.eml',
  ])
  assert.equal(statSync(path).mode & 0o777, 0o700)
  for (const name of names) assert.equal(statSync(join(path, name)).mode & 0o777, 0o600)
  const source = readFileSync(join(path, names[0] ?? ''), 'utf8')
  assert.ok(source.split('\r\n').includes(url))
  assert.ok(source.includes('Grüße aus Zürich'), 'readable as it is')
  const parsed = await simpleParser(source)
  assert.equal(parsed.subject, 'Größe')
  assert.ok(parsed.text?.includes('Grüße aus Zürich') && parsed.text.split('\n').includes(url))
  assert.ok(String(parsed.html).includes(`href="${url}"`))
  assert.deepEqual(parsed.date, new Date('2026-01-31T09:30:00.000Z'))
})

test('where no file can be written the letter is tried again, and nothing is left behind', async () => {
  const path = join(base, 'file')
  writeFileSync(path, '')
  const folder = await openTransport({ kind: 'folder', path })
  await assert.rejects(
    folder.send(letter, 'reset', postmark('2026-01-31T09:30:00Z', '11'), signal),
    error => error instanceof NotSent && error.code === 'EEXIST' && !error.isFinal,
  )
  const other = join(base, 'other')
  mkdirSync(other)
  const taken = await openTransport({ kind: 'folder', path: other })
  // A directory in the way of the name: the file is complete, and cannot be put in place.
  mkdirSync(join(other, '20260131T093000.000Z-reset-111111111111.eml'))
  await assert.rejects(taken.send(letter, 'reset', postmark('2026-01-31T09:30:00Z', '11'), signal), NotSent)
  assert.equal(readdirSync(other).length, 1)
  chmodSync(other, 0o755)
  await taken.send(letter, 'reset', postmark('2026-01-31T09:30:01Z', '11'), signal)
  assert.equal(statSync(other).mode & 0o777, 0o755, 'a folder that was there keeps its mode')
})
