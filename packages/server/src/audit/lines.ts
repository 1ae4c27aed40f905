/** Not an exported log, or one that lacks hashed parts. The message never quotes the file. */
export class NoAuditLog extends Error {}

/** Far longer than any row: a payload has at most two values of `meta`, old and new, of 64 KiB each. */
const lineBytesMax = 4 * 1_048_576

/**
 * Splits a stream of bytes at line feeds only: JSON text may contain other characters that Unicode treats as line breaks,
 * where Node's readline would split it.
 * @throws {NoAuditLog} when a line is longer than a row can be.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = []
  let length = 0
  let number = 1
  const keep = (piece: Buffer) => {
    rest.push(piece)
    length += piece.length
    if (length > lineBytesMax) throw new NoAuditLog(`Line ${number} is too long for a row of an audit log.`)
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, end))
      yield Buffer.concat(rest)
      rest = []
      length = 0
      number += 1
      from = end + 1
    }
    if (from < chunk.length) keep(chunk.subarray(from))
  }
  if (rest.length > 0) yield Buffer.concat(rest)
}
