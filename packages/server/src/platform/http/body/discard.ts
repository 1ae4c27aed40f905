/**
 * Frees bytes at once. Otherwise they would count as used memory until a garbage collection, which stops the process: after 18
 * MiB of discarded bodies, for tens of milliseconds. Only for bytes of a socket, which share their memory with nothing.
 */
export function discard(bytes: Buffer): void {
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length) buffer.transfer(0)
}
