import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openFailedRows } from './failed-rows.ts'
import { type Read, readRecords } from './read-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyrail-read-file-'))
after(() => rmSync(folder, { recursive: true, force: true }))

async function recordsOf(bytes: Buffer): Promise<Read[]> {
  const path = join(folder, 'keys')
  writeFileSync(path, bytes)
  const all: Read[] = []
  for await (const read of readRecords(path)) all.push(read)
  return all
}

const names = ['Köln', 'Käln']
const csv = `external_id,digest\n${names.map(name => `${name},x`).join('\n')}\n`
const lines = `${names.map(name => JSON.stringify({ external_id: name })).join('\n')}\n`
const document = JSON.stringify(
  names.map(name => ({ external_id: name })),
  null,
  1,
)

test('a file that is not UTF-8 is refused, and no two customers become one', async () => {
  for (const text of [csv, document])
    for (const encoding of ['latin1', 'utf16le'] as const)
      await assert.rejects(recordsOf(Buffer.from(text, encoding)), /no CSV|not UTF-8|is not JSON/)
  await assert.rejects(recordsOf(Buffer.from(csv, 'latin1')), /keys is not UTF-8\. Save it as UTF-8/)
  await assert.rejects(recordsOf(Buffer.from(document, 'latin1')), /keys is not UTF-8\. Save it as UTF-8/)
  const fault = { fault: 'the line is not JSON in UTF-8' }
  assert.deepEqual(await recordsOf(Buffer.from(lines, 'latin1')), [fault, fault])
})

test('a file in UTF-8 is read, with a byte order mark and without', async () => {
  for (const text of [csv, lines, document])
    for (const mark of ['', '\uFEFF']) {
      const read = await recordsOf(Buffer.from(`${mark}${text}`))
      assert.deepEqual(
        read.map(one => ('record' in one ? (one.record as { external_id: string }).external_id : one)),
        names,
      )
    }
})

test('a file of failed rows goes on only where this import has left it', async () => {
  const failedPath = join(folder, 'failed.ndjson')
  const work = {
    content: 'a',
    url: 'u',
    project: 'p',
    env: 'live',
    format: 'keyrail',
    from: null,
    failedPath,
  }
  const write = async (of: typeof work, ...records: number[]) => {
    writeFileSync(failedPath, '')
    const file = await openFailedRows(of, { failedBytes: 0 })
    await file.add(records.map(record => ({ record, row: {}, errors: [] })))
    await file.close()
    return readFileSync(failedPath, 'utf8')
  }
  const resume = async (text: string, failedBytes: number) => {
    writeFileSync(failedPath, text)
    await (await openFailedRows(work, { failedBytes })).close()
    assert.equal(statSync(failedPath).size, failedBytes)
  }
  const foreign = await write({ ...work, content: 'b' }, 3, 5)
  const own = await write(work, 3, 900)
  await resume(own, own.length)
  // What a killed run has written without counting it.
  const uncounted = await write(work, 2_001, 2_500)
  await resume(own + uncounted.slice(0, -9), own.length)
  await resume(uncounted, 0)
  const changed = /has changed since this import stopped, or has rows of another one/
  for (const [text, bytes] of [
    [foreign, 0],
    [own + foreign, own.length],
    [`{"record":3}\n${own}`, own.length],
  ] as const) {
    await assert.rejects(resume(text, bytes), changed)
    assert.equal(readFileSync(failedPath, 'utf8'), text)
  }
  await assert.rejects(resume(own.slice(1), own.length), /shorter than it was/)
})
