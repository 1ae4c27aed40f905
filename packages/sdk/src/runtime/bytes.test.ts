import assert from 'node:assert/strict'
import { Buffer as NodeBuffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type * as Bytes from './bytes.ts'
import * as fast from './bytes.ts'

/** The same module loaded without `Buffer`. */
const { Buffer } = globalThis
Reflect.deleteProperty(globalThis, 'Buffer')
const plain: typeof Bytes = await import(new URL('./bytes.ts?plain', import.meta.url).href)
globalThis.Buffer = Buffer

for (const [name, { joined, textOf, toBase64, fromBase64 }] of Object.entries({ fast, plain })) {
  test(`${name}: bytes are joined, and survive base64 unchanged`, () => {
    for (const length of [0, 1, 2, 3, 32, 20_000]) {
      const bytes = randomBytes(length)
      const part = Uint8Array.from([1, 2, 3, ...bytes]).subarray(3)
      const text = NodeBuffer.from(bytes).toString('base64')
      assert.equal(toBase64(bytes), text)
      assert.equal(toBase64(part), text, 'a view of a larger buffer')
      assert.deepEqual(Uint8Array.from(fromBase64(text) ?? []), Uint8Array.from(bytes))
    }
    assert.deepEqual(
      Uint8Array.from(joined([Uint8Array.of(1), Uint8Array.of(2, 3)], 3)),
      Uint8Array.of(1, 2, 3),
    )
  })

  test(`${name}: text survives encoding unchanged, including a byte order mark`, () => {
    for (const text of ['', 'abc', '☃ é 𝄞', '\ufeffmarked']) {
      assert.equal(textOf(new TextEncoder().encode(text)), text)
    }
    assert.equal(textOf(Uint8Array.of(0xff, 0x41)), '\ufffdA')
  })
}

test('plain: invalid base64 is detected', () => {
  for (const text of ['!', 'a', 'ab c*']) assert.equal(plain.fromBase64(text), undefined, text)
})
