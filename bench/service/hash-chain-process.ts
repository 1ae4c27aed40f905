import { hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { serveGenerator } from '../harness/generator.ts'

/**
 * The least that a verification must do: one SHA-256 over each row after the hash before it, in its own process. Rows
 * come from a file, a line each; only the hashing is timed, not the reading.
 */
export type HashPlan = {
  file: string
  /** In hex. */
  genesis: string
  domain: string
}
export type HashCounts = { rows: number; ms: number; last: string }

const LINE_BREAK = 10
/** Space for a row. */
const SCRATCH_BYTES = 1 << 20

await serveGenerator<HashPlan, HashCounts>(async ({ file, genesis, domain }) => {
  const scratch = Buffer.alloc(SCRATCH_BYTES)
  const start = scratch.write(domain)
  let last: Buffer = Buffer.from(genesis, 'hex')
  let rest = Buffer.alloc(0)
  let rows = 0
  let ms = 0
  for await (const chunk of createReadStream(file, { highWaterMark: SCRATCH_BYTES })) {
    const bytes = Buffer.concat([rest, chunk])
    let from = 0
    const startedAt = performance.now()
    for (let to = bytes.indexOf(LINE_BREAK); to !== -1; to = bytes.indexOf(LINE_BREAK, from)) {
      last.copy(scratch, start)
      const end = start + last.length + bytes.copy(scratch, start + last.length, from, to)
      last = hash('sha256', scratch.subarray(0, end), 'buffer')
      rows++
      from = to + 1
    }
    ms += performance.now() - startedAt
    rest = bytes.subarray(from)
  }
  return { rows, ms, last: last.toString('hex') }
})
