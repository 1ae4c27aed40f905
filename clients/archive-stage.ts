import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { checkout } from '../docs/documents.ts'
import { writeArchives } from '../packages/dashboard/archives.ts'

/** Serves the archives of the checkout under `/packages/`, as a service does. */
export async function serveArchives(): Promise<{ url: string; end(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-archives-'))
  await writeArchives(checkout, folder)
  const server = createServer((request, response) => {
    response.end(readFileSync(join(folder, 'packages', basename(request.url ?? ''))))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    end() {
      server.close()
      server.closeAllConnections()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
