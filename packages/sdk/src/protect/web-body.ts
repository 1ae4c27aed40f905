import { REQUEST_MAX_BYTES, tooLarge } from '../idempotency/gate.ts'
import type { Idempotency } from '../idempotency/idempotent.ts'
import { joined } from '../runtime/bytes.ts'

/**
 * Reads a copy of the body of a request of the Fetch API, so that the route can still read it, or pass it on. Stops at the limit,
 * because both copies are held in memory until the route reads its own.
 */
export async function readCopy(
  request: Request,
  { maxRequestBytes = REQUEST_MAX_BYTES }: Pick<Idempotency, 'maxRequestBytes'>,
): Promise<Uint8Array | typeof tooLarge> {
  if (Number(request.headers.get('content-length')) > maxRequestBytes) return tooLarge
  const reader = request.clone().body?.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {}
    if (done || value === undefined) return joined(chunks, bytes)
    bytes += value.byteLength
    if (bytes > maxRequestBytes) {
      // The cancellation ends with the other copy, so nothing waits for it.
      void reader?.cancel().catch(() => {})
      return tooLarge
    }
    chunks.push(value)
  }
}
