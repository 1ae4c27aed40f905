import { runMainJob } from './demo/main-job.ts'
import { type DemoService, startDemoService } from './demo/service.ts'
import { paint, print, Surprise } from './demo/talk.ts'

/**
 * npm run demo: the main job from end to end, over HTTP, against a Keyrail of its own that is gone afterwards.
 * Exit code 1 when anything comes out otherwise than promised.
 */
const interrupted = Promise.withResolvers<never>()
interrupted.promise.catch(() => {})
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.on(signal, () => {
    process.exitCode = code
    interrupted.reject(new Surprise('interrupted'))
  })
}

const began = performance.now()
const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s`
const starting = startDemoService()
let service: DemoService | undefined
try {
  service = await starting
  print('')
  print(`Keyrail runs at ${service.url}, with a Postgres of its own in ${service.dataDir} (${seconds()})`)
  print('')
  await Promise.race([runMainJob(service.url, service.mailFolder), interrupted.promise])
} catch (error) {
  process.exitCode ??= 1
  print(paint('red', `The demo ends here: ${error instanceof Error ? error.message : error}`))
} finally {
  await service?.remove()
}
if (process.exitCode === undefined)
  print(`Done in ${seconds()}; the service is stopped and its data removed.`)
