import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { simpleParser } from 'mailparser'
import { openTransport } from './mail.ts'
import type { Postmark } from './message.ts'
import { pruneFolder } from './prune-folder.ts'
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

test('a message is removed after thirty days, and foreign files stay', async () => {
  const path = join(base, 'old')
  const folder = await openTransport({ kind: 'folder', path })
  for (const [at, id] of [
    ['2026-01-01T00:00:00.000Z', 'aa'],
    ['2026-01-02T00:00:00.000Z', 'bb'],
  ] as const)
    await folder.send(letter, 'reset', postmark(at, id), signal)
  const others = ['notes.txt', '20200101T000000.000Z-mine.eml']
  const partials = [
    '.20260130T000000.000Z-reset-aaaaaaaaaaaa.eml.partial',
    '.20260131T100000.000Z-reset-bbbbbbbbbbbb.eml.partial',
  ]
  for (const name of [...others, ...partials]) writeFileSync(join(path, name), 'x')
  // Thirty days after the first, and a moment.
  await folder.send(letter, 'reset', postmark('2026-01-31T11:00:00.000Z', 'cc'), signal)
  assert.deepEqual(readdirSync(path).sort(), [
    partials[1],
    others[1],
    '20260102T000000.000Z-reset-bbbbbbbbbbbb.eml',
    '20260131T110000.000Z-reset-cccccccccccc.eml',
    others[0],
  ])
})

test('if there are too many messages or bytes, the oldest are removed', async () => {
  const path = join(base, 'many')
  const folder = await openTransport({ kind: 'folder', path })
  const at = (minute: number) => `2026-01-31T09:0${minute}:00.000Z`
  for (let i = 0; i < 5; i++) await folder.send(letter, 'reset', postmark(at(i), `0${i}`), signal)
  const now = Date.parse(at(5))
  const left = () => readdirSync(path).map(name => name.slice(11, 13))
  assert.equal(await pruneFolder(path, now, { files: 4 }), 1)
  assert.deepEqual(left(), ['01', '02', '03', '04'])
  const { size } = statSync(join(path, readdirSync(path)[0] ?? ''))
  assert.equal(await pruneFolder(path, now, { bytes: 2 * size }), 2)
  assert.deepEqual(left(), ['03', '04'])
  assert.equal(await pruneFolder(path, now, { bytes: 1 }), 1)
  assert.deepEqual(left(), ['04'], 'the newest stays')
})

test('a folder that is a link or that others can write to gets no mail', async () => {
  const real = join(base, 'real')
  mkdirSync(real, { mode: 0o700 })
  symlinkSync(real, join(base, 'folder-link'))
  const linked = await openTransport({ kind: 'folder', path: join(base, 'folder-link') })
  await assert.rejects(linked.verify(), /symbolic link/)
  const mark = postmark('2026-01-31T09:30:00.125Z', 'ff')
  const unsafe = (error: unknown) => error instanceof NotSent && error.code === 'unsafe folder'
  await assert.rejects(linked.send(letter, 'reset', mark, signal), unsafe)
  chmodSync(real, 0o777)
  const open = await openTransport({ kind: 'folder', path: real })
  await assert.rejects(open.verify(), /Others may write to/)
  await assert.rejects(open.send(letter, 'reset', mark, signal), unsafe)
  assert.deepEqual(readdirSync(real), [])
  chmodSync(real, 0o700)
  const victim = join(base, 'victim')
  writeFileSync(victim, 'untouched')
  symlinkSync(victim, join(real, '.20260131T093000.125Z-reset-ffffffffffff.eml.partial'))
  await assert.rejects(open.send(letter, 'reset', mark, signal))
  assert.equal(readFileSync(victim, 'utf8'), 'untouched')
})

test('each message is one complete file, readable by its owner, with its link whole', async () => {
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
  assert.ok(source.includes('Grüße aus Zürich'), 'readable without decoding')
  const parsed = await simpleParser(source)
  assert.equal(parsed.subject, 'Größe')
  assert.ok(parsed.text?.includes('Grüße aus Zürich') && parsed.text.split('\n').includes(url))
  assert.ok(String(parsed.html).includes(`href="${url}"`))
  assert.deepEqual(parsed.date, new Date('2026-01-31T09:30:00.000Z'))
})

test('if no file can be written, the letter is tried again and nothing is left behind', async () => {
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
  // A directory blocks the name: the file is complete but cannot be renamed.
  mkdirSync(join(other, '20260131T093000.000Z-reset-111111111111.eml'))
  await assert.rejects(taken.send(letter, 'reset', postmark('2026-01-31T09:30:00Z', '11'), signal), NotSent)
  assert.equal(readdirSync(other).length, 1)
  chmodSync(other, 0o755)
  await taken.send(letter, 'reset', postmark('2026-01-31T09:30:01Z', '11'), signal)
  assert.equal(statSync(other).mode & 0o777, 0o755, 'an existing folder keeps its mode')
})
