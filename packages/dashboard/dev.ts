import { mailedPages } from '@keyrail/contract/mailed-pages'
import { createServer, type Plugin } from 'vite'
import { config } from './config.ts'
import { findService } from './dev-service.ts'

/**
 * Serves the dashboard from its sources, and opens a changed source by itself. The service answers the calls: the one that
 * listens on SERVICE_PORT, or one that this starts.
 */

/** The pages of mailed links are outside of Vite's base. */
const mailedLinks: Plugin = {
  name: 'mailed links',
  configureServer({ middlewares }) {
    const paths: readonly string[] = Object.values(mailedPages)
    middlewares.use((request, _response, next) => {
      if (paths.includes(request.url ?? '')) request.url = '/app/'
      next()
    })
  },
}

const service = await findService()
const server = await createServer({
  ...config,
  plugins: [mailedLinks],
  server: {
    host: '127.0.0.1',
    port: Number(process.env.KEYRAIL_DEV_PORT ?? 5173),
    proxy: { '/v1': service.url, '/embed': service.url, '/docs': service.url },
  },
})
await server.listen()
server.printUrls()

let isStopping = false
async function stop(): Promise<void> {
  // A signal to the whole process group arrives from the shell too.
  if (isStopping) return
  isStopping = true
  await Promise.all([server.close(), service.stop()])
  process.exit()
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop())
