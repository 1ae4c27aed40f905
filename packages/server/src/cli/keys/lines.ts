import { createReadStream } from 'node:fs'
import { utf8Of } from './utf8.ts'

/** More than any line of keys takes. */
export const lineBytesMax = 1_048_576

/** A line without its end. Null: it is longer than any line may be, or is no UTF-8. */
export interface Line {
  readonly text: string | null
  /** Bytes of the file up to the end of this line. */
  readonly end: number
  /** Whether a line feed ends it: the last line of a killed process has none. */
  readonly isWhole: boolean
}

const lineFeed = 10

/** The lines of a file, in constant memory. Only a line feed ends one: JSON has other line breaks within its texts. */
export async function* readLines(path: string): AsyncGenerator<Line> {
  let parts: Buffer[] = []
  let held = 0
  let end = 0
  const take = (part: Buffer) => {
    held += part.length
    // Of a line that is too long, nothing is kept.
    if (held > lineBytesMax) parts = []
    else parts.push(part)
  }
  const line = (isWhole: boolean): Line => {
    const text = held > lineBytesMax ? null : utf8Of(Buffer.concat(parts))
    end += held + (isWhole ? 1 : 0)
    parts = []
    held = 0
    return { text, end, isWhole }
  }
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0
    for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, from)) {
      take(chunk.subarray(from, at))
      from = at + 1
      yield line(true)
    }
    take(chunk.subarray(from))
  }
  if (held > 0) yield line(false)
}
