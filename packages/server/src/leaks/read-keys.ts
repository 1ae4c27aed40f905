import { readFile } from 'node:fs/promises'
import { traceHeaders } from '../platform/observe/tracing.ts'
import type { ReadKeys } from './codehost-keys.ts'

/** Milliseconds and bytes that the document may take. GitHub's has a few hundred bytes. */
const fetchMs = 5_000
export const documentMax = 262_144

/** Reads the configured file, or the URL over HTTPS. Redirects are not followed: the setting is the only source. */
export function readKeysFrom({
  codehostKeysFile,
  codehostKeysUrl,
}: {
  codehostKeysFile: string | null
  codehostKeysUrl: string
}): ReadKeys {
  if (codehostKeysFile !== null) return () => readFile(codehostKeysFile)
  return async () => {
    const response = await fetch(codehostKeysUrl, {
      redirect: 'error',
      signal: AbortSignal.timeout(fetchMs),
      headers: { accept: 'application/json', 'user-agent': 'keyrail', ...traceHeaders() },
    })
    if (response.status !== 200 || response.body === null) {
      await response.body?.cancel()
      throw new Error(`the server of the keys responded with ${response.status}`)
    }
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > documentMax) throw new Error('the document is too large')
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}
