import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

const alive = new Set<ChildProcess>()

/** No child process outlives the bench, even an interrupted one. */
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

/** Registers a child until it ends. */
export function track<T extends ChildProcess>(child: T): T {
  alive.add(child)
  child.once('close', () => alive.delete(child))
  child.once('error', () => alive.delete(child))
  return child
}

/** Waits for the end of a child and of its output; rejects for a child that could not start. */
export async function ended(child: ChildProcess): Promise<{ code: number | null; signal: string | null }> {
  const [code, signal] = await once(child, 'close')
  return { code, signal }
}

/** Collects the last `limit` characters of the output. */
export function tail(stream: NodeJS.ReadableStream | null, limit = 8_000): () => string {
  let text = ''
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-limit)
  })
  return () => text.trim()
}
