/** A file that is no exported log, or one that does not show all that was hashed. Never quotes what it holds. */
export class NoAuditLog extends Error {}

/** Far longer than any row: a payload has at most two values of `meta`, old and new, of 64 KiB each. */
const lineBytesMax = 4 * 1_048_576

/**
 * The lines of a stream of bytes, ended by a line feed and by nothing else: in JSON text there may be other characters at
 * which Unicode breaks a line, and Node's own reader of lines breaks it there.
 * @throws {NoAuditLog} when a line is longer than a row can be.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = []
  let length = 0
  let number = 1
  const keep = (piece: Buffer) => {
    rest.push(piece)
    length += piece.length
    if (length > lineBytesMax)
      throw new NoAuditLog(`Line ${number} is longer than a row of an audit log can be.`)
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
