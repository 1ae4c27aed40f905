/**
 * The lines of a stream of bytes, ended by a line feed and by nothing else: in JSON text there may be other characters at
 * which Unicode breaks a line, and Node's own reader of lines breaks it there.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer[] = []
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      rest.push(chunk.subarray(from, end))
      yield Buffer.concat(rest).toString()
      rest = []
      from = end + 1
    }
    if (from < chunk.length) rest.push(chunk.subarray(from))
  }
  if (rest.length > 0) yield Buffer.concat(rest).toString()
}
