/**
 * The text of a file. Null: the bytes are no UTF-8. A decoder that puts a replacement for what it cannot read makes one name of two that
 * differ there, and with it one customer of two.
 */
export function utf8Of(bytes: Buffer): string | null {
  try {
    return decoder().decode(bytes)
  } catch {
    return null
  }
}

/** A byte order mark stays: whoever reads the text removes it. */
const decoder = () => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @throws {TypeError} where the bytes are no UTF-8 */
export async function* utf8Texts(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const all = decoder()
  for await (const chunk of chunks) yield all.decode(chunk, { stream: true })
  yield all.decode()
}
