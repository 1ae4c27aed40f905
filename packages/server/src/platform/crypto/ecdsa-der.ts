/** Of each of the two numbers in a P-256 signature. */
const numberBytes = 32

/**
 * A P-256 signature as JWS has it (two numbers of 32 bytes, RFC 7518, 3.4) in the form of X.509 (a DER sequence of two
 * integers), which OpenSSL takes as it is: Node spends a fifth of a verification on the way from one to the other.
 */
export function toDer(signature: Buffer): Buffer {
  const der = Buffer.allocUnsafe(2 + 2 * (3 + numberBytes))
  const afterFirst = writeInteger(der, 2, signature, 0)
  const end = writeInteger(der, afterFirst, signature, numberBytes)
  der[0] = 0x30
  der[1] = end - 2
  return der.subarray(0, end)
}

/** In as few bytes as it takes, and never negative. @returns the place behind it */
function writeInteger(der: Buffer, at: number, signature: Buffer, from: number): number {
  const to = from + numberBytes
  let first = from
  while (first < to - 1 && signature[first] === 0) first++
  const isNegative = (signature[first] as number) >= 0x80
  const length = to - first + (isNegative ? 1 : 0)
  der[at] = 0x02
  der[at + 1] = length
  der[at + 2] = 0
  signature.copy(der, at + 2 + (isNegative ? 1 : 0), first, to)
  return at + 2 + length
}
