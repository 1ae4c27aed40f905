import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Connection } from '../../packages/server/src/platform/db/connection.ts'
import { type Piece, type Relay, type Side, type Splitter, startRelay } from './relay.ts'

/**
 * A relay before a Postgres on a socket file. It knows the protocol well enough to stop at one statement of a
 * transaction. Labels: `Q <text>` for a plain query, `P <name>` and `B <name>` for a statement as it is prepared and
 * run, `C <tag>` for its end, and the bare message letter for all else.
 */
export async function startPostgresRelay(target: Connection): Promise<Relay & { connection: Connection }> {
  const directory = mkdtempSync('/tmp/keyrail-relay-')
  const removeDirectory = () => rmSync(directory, { recursive: true, force: true })
  process.once('exit', removeDirectory)
  const file = `.s.PGSQL.${target.port}`
  const relay = await startRelay(
    { path: join(directory, file) },
    () => ({ path: join(String(target.host), file) }),
    postgresSplitter,
  )
  return {
    ...relay,
    connection: { ...target, host: directory },
    async close() {
      await relay.close()
      process.off('exit', removeDirectory)
      removeDirectory()
    },
  }
}

/** Messages are a letter and a length that counts itself; a client's first one has no letter. */
export function postgresSplitter(side: Side): Splitter {
  let rest = Buffer.alloc(0)
  let first = side === 'to server'
  return chunk => {
    rest = Buffer.concat([rest, chunk])
    const pieces: Piece[] = []
    for (;;) {
      const lead = first ? 0 : 1
      if (rest.length < lead + 4) return pieces
      const length = lead + rest.readUInt32BE(lead)
      if (rest.length < length) return pieces
      const bytes = rest.subarray(0, length)
      pieces.push({ label: first ? 'startup' : labelOf(side, bytes), bytes })
      rest = rest.subarray(length)
      first = false
    }
  }
}

function labelOf(side: Side, bytes: Buffer): string {
  const letter = String.fromCharCode(bytes[0] ?? 0)
  const text = (from: number) => {
    const end = bytes.indexOf(0, from)
    return bytes.toString('utf8', from, end === -1 ? bytes.length : end)
  }
  if (side === 'to client') return letter === 'C' ? `C ${text(5)}` : letter
  if (letter === 'Q' || letter === 'P') return `${letter} ${text(5)}`
  // Bind names the portal first.
  if (letter === 'B') return `B ${text(bytes.indexOf(0, 5) + 1)}`
  return letter
}
