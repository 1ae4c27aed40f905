import { assertKeepsContract } from './contract-watch.ts'
import type { Harness, Heard } from './harness.ts'

export interface Bytes {
  token?: string | undefined
  /** An array sends the header once per value. */
  headers?: Record<string, string | string[]>
  payload?: string | Uint8Array
}

/** Sends a body byte for byte, with only the given headers, and checks the response against the contract. */
export async function sendBytes(
  { app }: Harness,
  method: string,
  url: string,
  { token, headers = {}, payload }: Bytes,
): Promise<Heard> {
  const response = await app.inject({
    method: method as 'GET',
    url,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(headers as Record<string, string>),
    },
    ...(payload !== undefined && { payload: Buffer.from(payload as string) }),
  })
  const heard = {
    status: response.statusCode,
    headers: response.headers as Heard['headers'],
    // The audit export is one JSON object per line.
    body: /[/+]json\b/.test(String(response.headers['content-type'])) ? response.json() : response.body,
  }
  assertKeepsContract({ method, url, ...heard })
  return heard
}
