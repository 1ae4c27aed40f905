import { Readable } from 'node:stream'

/** The media type of one JSON object a line. */
export const linesType = 'application/x-ndjson'

/** Whether the client asks for lines by name: any other client gets the whole answer at once. */
export const wantsLines = (accept: string | undefined): boolean =>
  accept?.split(',').some(range => range.split(';', 1)[0]?.trim().toLowerCase() === linesType) ?? false

/** An answer whose parts are sent as soon as they exist, a line of JSON each. */
export class JsonLines {
  readonly #values: AsyncGenerator<object>

  constructor(values: AsyncGenerator<object>) {
    this.#values = values
  }

  /** @param lastWords makes the last line when an error prevents the rest. The status has been sent by then. */
  toStream(lastWords: (error: unknown) => object): Readable {
    return Readable.from(linesOf(this.#values, lastWords), { objectMode: false })
  }
}

async function* linesOf(
  values: AsyncGenerator<object>,
  lastWords: (error: unknown) => object,
): AsyncGenerator<string> {
  try {
    for await (const value of values) yield `${JSON.stringify(value)}\n`
  } catch (error) {
    yield `${JSON.stringify(lastWords(error))}\n`
  }
}
