import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { serveGenerator } from '../harness/generator.ts'

/** The least that a request with a signed token must do: one ES256 verification after another, on one core. */
export type RawEs256Plan = { jwk: JsonWebKey; tokens: readonly string[]; seconds: number }
export type RawEs256Counts = { verified: number; perSecond: number; cpuSeconds: number }

await serveGenerator<RawEs256Plan, RawEs256Counts>(async ({ jwk, tokens, seconds }) => {
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const signed = tokens.map(token => {
    const cut = token.lastIndexOf('.')
    return {
      text: Buffer.from(token.slice(0, cut)),
      signature: Buffer.from(token.slice(cut + 1), 'base64url'),
    }
  })
  const holds = ({ text, signature }: (typeof signed)[number]) =>
    verify('sha256', text, { key, dsaEncoding: 'ieee-p1363' }, signature)
  const [first] = signed
  if (first === undefined || holds({ ...first, text: Buffer.from('another') }))
    throw new Error('a signature of another text was accepted')
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  const deadline = began + seconds * 1_000
  let verified = 0
  while (performance.now() < deadline) {
    const one = signed[verified % signed.length]
    if (one === undefined || !holds(one)) throw new Error('a valid signature was refused')
    verified++
  }
  const { user, system } = process.cpuUsage(cpuBefore)
  const spent = (performance.now() - began) / 1_000
  return { verified, perSecond: verified / spent, cpuSeconds: (user + system) / 1e6 }
})
