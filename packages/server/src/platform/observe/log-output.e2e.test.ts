import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { until } from '../../../test/until.ts'
import { openLogOutput } from './log-output.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyrail-log-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let made = 0

/** A pipe as standard output: both ends refuse to wait. */
function openPipe() {
  const path = join(folder, `pipe${++made}`)
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  const bytes = Buffer.alloc(2 ** 20)
  const read = (): string => {
    try {
      return bytes.toString('utf8', 0, readSync(reader, bytes))
    } catch {
      return ''
    }
  }
  return { fd, read, closeReader: () => closeSync(reader) }
}

const describeDropped = (lines: number) => `missing ${lines}\n`
/** A sleep that takes no time, and counts. */
function countedSleep() {
  let ms = 0
  return {
    sleep: (slept: number) => {
      ms += slept
    },
    slept: () => ms,
  }
}
const line = `${'x'.repeat(999)}\n`
/** More than a pipe holds. */
const many = 200

test('lines of a turn arrive in order, and nothing is dropped', async () => {
  const { fd, read } = openPipe()
  const output = openLogOutput({ fd, describeDropped })
  for (const text of ['one\n', 'zwölf\n', 'three\n']) output.write(text)
  let text = ''
  await until(() => {
    text += read()
    return text === 'one\nzwölf\nthree\n'
  })
  assert.equal(output.dropped, 0)
})

test('lines beyond the bound are dropped, and one line at their place says how many', async () => {
  const { fd, read } = openPipe()
  const output = openLogOutput({ fd, describeDropped, bytesMax: 50_000 })
  for (let i = 0; i < many; i++) output.write(line)
  const { dropped } = output
  // A pipe of Linux holds up to 64 KiB.
  assert.ok(dropped >= many - 66 - 50 && dropped < many - 50, `${dropped}`)
  let text = ''
  await until(() => {
    text += read()
    return text.endsWith(`missing ${dropped}\n`)
  })
  assert.equal(text, `${line.repeat(many - dropped)}missing ${dropped}\n`)
  output.write('again\n')
  await until(() => read() === 'again\n')
  assert.equal(output.dropped, dropped)
})

test('a flush waits for a reader within its bound, and no second time', () => {
  const { fd, read } = openPipe()
  const { sleep, slept } = countedSleep()
  const output = openLogOutput({ fd, describeDropped, flushMs: 500, sleep })
  for (let i = 0; i < many; i++) output.write(line)
  output.flush()
  assert.equal(slept(), 500)
  output.flush()
  assert.equal(slept(), 500)
  // Once everything is read, the next flush has its time again.
  let text = ''
  while (text.length < many * 1_000) {
    text += read()
    output.flush()
  }
  assert.equal(text, line.repeat(many))
  for (let i = 0; i < many; i++) output.write(line)
  output.flush()
  assert.equal(slept(), 1_000)
})

test('a flush during which the reader comes back writes everything', () => {
  const { fd, read } = openPipe()
  let text = ''
  const output = openLogOutput({
    fd,
    describeDropped,
    sleep: () => {
      text += read()
    },
  })
  for (let i = 0; i < many; i++) output.write(line)
  output.flush()
  assert.equal(text + read(), line.repeat(many))
})

for (const [fault, open] of [
  ['a full disk', () => openSync('/dev/full', 'w')],
  [
    'a pipe without a reader',
    () => {
      const { fd, closeReader } = openPipe()
      closeReader()
      return fd
    },
  ],
] as const) {
  test(`${fault} throws nothing, drops lines, and a flush does not wait for it`, () => {
    const { sleep, slept } = countedSleep()
    const output = openLogOutput({ fd: open(), describeDropped, bytesMax: 50_000, sleep })
    for (let i = 0; i < many; i++) output.write(line)
    output.flush()
    assert.equal(output.dropped, many - 50)
    assert.equal(slept(), 0)
  })
}

test('a line that is longer than the bound is dropped alone', async () => {
  const { fd, read } = openPipe()
  const output = openLogOutput({ fd, describeDropped, bytesMax: 100 })
  output.write(line)
  let text = ''
  await until(() => {
    text += read()
    return text === 'missing 1\n'
  })
  output.write('short\n')
  await until(() => read() === 'short\n')
})

test('lines that share a pipe are written in whole lines of at most a piece', async () => {
  const { fd, read } = openPipe()
  const output = openLogOutput({ fd, describeDropped, pieceBytes: 100 })
  const short = `${'x'.repeat(39)}\n`
  const long = `${'y'.repeat(149)}\n`
  const given = [short, short, short, long, short]
  for (const text of given) output.write(text)
  let text = ''
  await until(() => {
    text += read()
    return text === given.join('')
  })
})
