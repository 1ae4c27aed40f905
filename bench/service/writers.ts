import { BenchFault } from '../harness/bench.ts'
import { HttpConnection } from '../harness/http-connection.ts'
import type { HttpRequest } from '../harness/request.ts'

/** Writes until the server dies, and records the acknowledged writes. */
export type Writers = {
  /** Resolves once every connection is broken, with the names that were answered 201. */
  ended: Promise<string[]>
}

/**
 * Opens that many connections, each of which sends the next write when it has its answer.
 *
 * @param write makes the request that writes this name
 */
export async function startWriters(
  url: string,
  connections: number,
  makeName: () => string,
  write: (name: string) => HttpRequest,
): Promise<Writers> {
  const acknowledged: string[] = []
  const open = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(new URL(url))))
  const ends = open.map(
    connection =>
      new Promise<void>((resolve, reject) => {
        const next = () => {
          const name = makeName()
          connection.request(
            write(name),
            ({ status, body }) => {
              if (status !== 201) return reject(new BenchFault(`a write was answered ${status}: ${body()}`))
              acknowledged.push(name)
              next()
            },
            () => resolve(),
          )
        }
        next()
      }),
  )
  return { ended: Promise.all(ends).then(() => acknowledged) }
}
