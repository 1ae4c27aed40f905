import { promisify } from 'node:util'
import { brotliCompress, gzip, constants as zlib } from 'node:zlib'

export type Encoding = 'br' | 'gzip' | 'identity'

/** Below it the headers outweigh what is saved. */
const leastBytes = 1_024
/** Quality 4 packs pages of keys to 20 % at the speed at which gzip comes to 26 %. */
const brotliOptions = { params: { [zlib.BROTLI_PARAM_QUALITY]: 4 } }

/** A body that many are sent, and its compressed forms, each made when it is first asked for. */
export class SharedBody {
  readonly identity: Buffer
  readonly #forms = new Map<Encoding, Promise<Buffer>>()

  constructor(body: string | Buffer) {
    this.identity = Buffer.isBuffer(body) ? body : Buffer.from(body)
  }

  get bytes(): number {
    return this.identity.length
  }

  /** @param accepted the request's `Accept-Encoding`. */
  async encoded(accepted: string | undefined): Promise<{ body: Buffer; encoding: Encoding }> {
    const encoding = this.bytes < leastBytes ? 'identity' : encodingOf(accepted)
    if (encoding === 'identity') return { body: this.identity, encoding }
    let form = this.#forms.get(encoding)
    if (form === undefined) {
      form =
        encoding === 'br'
          ? promisify(brotliCompress)(this.identity, brotliOptions)
          : promisify(gzip)(this.identity, { level: 1 })
      this.#forms.set(encoding, form)
      form.catch(() => this.#forms.delete(encoding))
    }
    return { body: await form, encoding }
  }
}

/** Brotli before gzip, of what the caller takes. RFC 9110 §12.5.3; a weight of 0 refuses. */
export function encodingOf(accepted = ''): Encoding {
  const taken = accepted
    .split(',')
    .map(part =>
      part
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/),
    )
    .filter(([, weight]) => !/^q=0(?:\.0*)?$/.test(weight ?? ''))
    .map(([name]) => name)
  return taken.includes('br') ? 'br' : taken.includes('gzip') ? 'gzip' : 'identity'
}

/** Whether `If-None-Match` names a tag, compared weakly. RFC 9110 §13.1.2. */
export const matches = (ifNoneMatch: string | undefined, etag: string): boolean =>
  (ifNoneMatch ?? '')
    .split(',')
    .some(one => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag.replace(/^W\//, ''))
