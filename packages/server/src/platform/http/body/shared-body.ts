import { promisify } from 'node:util'
import { brotliCompress, gzip, constants as zlib } from 'node:zlib'
import Negotiator from 'negotiator'

export type Encoding = 'br' | 'gzip' | 'identity'

/** Below this size the headers take more bytes than compression saves. */
export const leastEncodedBytes = 1_024
/**
 * `quick`: Brotli's quality 4 compresses pages of keys to 20 %, at the speed at which gzip reaches 26 %. `thorough`, for
 * files that stay the same as long as the process: scripts get 7 % smaller and styles 14 % (gzip: 12 and 24 %), in some 40 ms
 * a file.
 */
export const levels = { quick: { brotli: 4, gzip: 1 }, thorough: { brotli: 6, gzip: 6 } } as const

/** A body that is sent to many callers, and its compressed forms, each made on its first request. */
export class SharedBody {
  readonly identity: Buffer
  readonly #forms = new Map<Encoding, Promise<Buffer>>()
  readonly #effort: keyof typeof levels

  constructor(body: string | Buffer, effort: keyof typeof levels = 'quick') {
    this.#effort = effort
    this.identity = Buffer.isBuffer(body) ? body : Buffer.from(body)
  }

  get bytes(): number {
    return this.identity.length
  }

  /** @param accepted the request's `Accept-Encoding`. */
  async encoded(accepted: string | undefined): Promise<{ body: Buffer; encoding: Encoding }> {
    const encoding = this.bytes < leastEncodedBytes ? 'identity' : encodingOf(accepted)
    if (encoding === 'identity') return { body: this.identity, encoding }
    let form = this.#forms.get(encoding)
    if (form === undefined) {
      const { brotli, gzip: level } = levels[this.#effort]
      form =
        encoding === 'br'
          ? promisify(brotliCompress)(this.identity, { params: { [zlib.BROTLI_PARAM_QUALITY]: brotli } })
          : promisify(gzip)(this.identity, { level })
      this.#forms.set(encoding, form)
      form.catch(() => this.#forms.delete(encoding))
    }
    return { body: await form, encoding }
  }
}

/** The library's types do not have its second argument yet. */
interface Choosing {
  encoding(available: readonly string[], options: { preferred: readonly string[] }): string | undefined
}

/** RFC 9110 §12.5.3. Among equal weights, Brotli comes before gzip. */
export function encodingOf(accepted = ''): Encoding {
  const asked: Choosing = new Negotiator({ headers: { 'accept-encoding': accepted } })
  const chosen = asked.encoding(['br', 'gzip', 'identity'], { preferred: ['br', 'gzip'] })
  // A caller that refuses every encoding gets the plain body instead of 406, as RFC 9110 allows.
  return (chosen as Encoding | undefined) ?? 'identity'
}

/** Whether `If-None-Match` has a tag, compared weakly. RFC 9110 §13.1.2. */
export const matches = (ifNoneMatch: string | undefined, etag: string): boolean =>
  (ifNoneMatch ?? '')
    .split(',')
    .some(one => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag.replace(/^W\//, ''))
