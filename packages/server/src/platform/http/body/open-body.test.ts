import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { OpenBody } from './open-body.ts'

const read = {
  br: (bytes: Buffer) => brotliDecompressSync(bytes),
  gzip: (bytes: Buffer) => gunzipSync(bytes),
  identity: (bytes: Buffer) => bytes,
}

for (const accepted of ['br', 'gzip', 'identity'])
  test(`in ${accepted}, answers of any size share their start, and each has its own end`, async () => {
    for (const length of [0, 1, 2_000, 70_001, 3_000_000]) {
      const start = `{"keys":["${'key, ä '.repeat(length / 7)}${'x'.repeat(length % 7)}"]`
      const body = new OpenBody(start)
      const starts = new Set<Buffer>()
      for (const end of [',"at":1}', ',"at":"two"}', `,"at":"${'3'.repeat(300)}"}`]) {
        const { body: ended, encoding } = await body.encoded(accepted, end)
        assert.equal(encoding, length < 1_024 ? 'identity' : accepted)
        starts.add(ended.start)
        const whole = Buffer.concat([ended.start, ended.end])
        assert.equal(whole.length, ended.bytes)
        assert.equal(read[encoding](whole).toString(), start + end)
      }
      assert.equal(starts.size, 1)
    }
  })

test('an end longer than a block is refused', async () => {
  await assert.rejects(new OpenBody('{').encoded('br', 'x'.repeat(65_536)), RangeError)
})
