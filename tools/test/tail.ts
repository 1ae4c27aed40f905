import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** The last bytes of a file, from the start of a line: it may be larger than memory. */
export function tailOf(path: string, bytesMax: number): string {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const from = Math.max(0, size - bytesMax)
    const bytes = Buffer.alloc(size - from)
    readSync(file, bytes, 0, bytes.length, from)
    const text = bytes.toString('utf8')
    return from === 0 ? text : text.slice(text.indexOf('\n') + 1)
  } finally {
    closeSync(file)
  }
}
