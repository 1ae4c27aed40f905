import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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
  const path = join(folder, 'failed.ndjson')
  const line = (record: number) => `${JSON.stringify({ record, errors: [] })}\n`
  const resume = async (text: string, begun: { failedBytes: number; records: number }) => {
    writeFileSync(path, text)
    await (await openFailedRows(path, begun)).close()
  }
  const own = line(3) + line(900)
  await resume(own, { failedBytes: own.length, records: 2_000 })
  // What a killed run has written without counting it.
  await resume(own + line(2_001) + line(2_500).slice(0, 9), { failedBytes: own.length, records: 2_000 })
  const changed = /has changed since this import stopped/
  await assert.rejects(resume(line(4), { failedBytes: 0, records: 2_000 }), changed)
  await assert.rejects(resume(line(33_333) + own, { failedBytes: own.length, records: 2_000 }), changed)
  await assert.rejects(resume(line(3), { failedBytes: own.length, records: 2_000 }), /shorter than it was/)
})
