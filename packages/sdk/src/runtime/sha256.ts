/**
 * SHA-256 (FIPS 180-4) for runtimes without a synchronous one: workers have only an asynchronous one, and `verify` is
 * synchronous. A key takes about 2 µs.
 */

/** The first 32 bits of the fractional part of a root: the source of the standard's constants. */
const fraction = (root: number): number => ((root - Math.floor(root)) * 2 ** 32) | 0

const first = new Int32Array(8)
const rounds = new Int32Array(64)
for (let number = 2, count = 0; count < 64; number++) {
  let divisor = 2
  while (number % divisor !== 0) divisor++
  if (divisor < number) continue
  if (count < 8) first[count] = fraction(Math.sqrt(number))
  rounds[count++] = fraction(Math.cbrt(number))
}

const BLOCK_BYTES = 64
const turned = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))

export function sha256(bytes: Uint8Array): Uint8Array {
  const state = first.slice()
  const words = new Int32Array(64)
  const message = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const whole = bytes.length - (bytes.length % BLOCK_BYTES)
  for (let at = 0; at < whole; at += BLOCK_BYTES) takeBlock(state, words, message, at)
  const rest = endOf(bytes, whole)
  for (let at = 0; at < rest.byteLength; at += BLOCK_BYTES) takeBlock(state, words, rest, at)
  const digest = new DataView(new ArrayBuffer(32))
  for (let word = 0; word < 8; word++) digest.setInt32(word * 4, state[word] as number)
  return new Uint8Array(digest.buffer)
}

/** The end of a message: its last bytes, a 1 bit, and its length in bits. */
function endOf(bytes: Uint8Array, from: number): DataView {
  const left = bytes.length - from
  const rest = new Uint8Array(left < BLOCK_BYTES - 8 ? BLOCK_BYTES : 2 * BLOCK_BYTES)
  rest.set(bytes.subarray(from))
  rest[left] = 0x80
  const view = new DataView(rest.buffer)
  view.setUint32(rest.length - 8, Math.floor(bytes.length / 2 ** 29))
  view.setUint32(rest.length - 4, bytes.length << 3)
  return view
}

function takeBlock(state: Int32Array, words: Int32Array, message: DataView, from: number): void {
  for (let at = 0; at < 16; at++) words[at] = message.getInt32(from + at * 4)
  for (let at = 16; at < 64; at++) {
    const [early, late] = [words[at - 15] as number, words[at - 2] as number]
    const low = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3)
    const high = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10)
    words[at] = ((words[at - 16] as number) + low + (words[at - 7] as number) + high) | 0
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let at = 0; at < 64; at++) {
    const high = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
    const choice = (e & f) ^ (~e & g)
    const one = (h + high + choice + (rounds[at] as number) + (words[at] as number)) | 0
    const low = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)
    const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + one) | 0
    d = c
    c = b
    b = a
    a = (one + two) | 0
  }
  for (const [at, word] of [a, b, c, d, e, f, g, h].entries()) state[at] = (state[at] as number) + word
}
