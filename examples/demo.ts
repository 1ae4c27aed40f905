import { readCommandLine } from '../tools/command-line.ts'
import type { Example } from './demo/example.ts'
import { runMainJob } from './demo/main-job.ts'
import { olive, password } from './demo/people.ts'
import { openPortal } from './demo/portal.ts'
import { type DemoService, startDemoService } from './demo/service.ts'
import { paint, print, Surprise } from './demo/talk.ts'

/** `npm run demo`: the main job from end to end, over HTTP. */
const usage = `\
npm run demo             does the main job, on a temporary Keyrail that it starts and deletes again
npm run demo -- --look   opens a customer portal afterwards; all stays up until Ctrl-C

Exit code 0: every answer was the promised one. 1: one was not.`

const { look } = readCommandLine(usage, { look: { type: 'boolean' } }).values

const interrupted = Promise.withResolvers<never>()
interrupted.promise.catch(() => {})
let isLooking = false
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.on(signal, () => {
    // This is how a person ends the look.
    if (!isLooking) process.exitCode = code
    interrupted.reject(new Surprise('interrupted'))
  })
}

const began = performance.now()
const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s`
const starting = startDemoService()
let service: DemoService | undefined
let portal: Promise<Example> | undefined
try {
  service = await starting
  print('')
  print(`Keyrail runs at ${service.url}, with its own Postgres in ${service.dataDir} (${seconds()})`)
  print('')
  const vendor = await Promise.race([runMainJob(service.url, service.mailFolder), interrupted.promise])
  if (look) {
    portal = openPortal(service.url, vendor)
    const { url } = await Promise.race([portal, interrupted.promise])
    isLooking = true
    print('')
    print(`Customer portal   ${url}, where a customer manages its keys; the address is filled in`)
    print(`Dashboard         ${service.url}/app, for ${olive} with the password “${password}”`)
    print('Ctrl-C ends both.')
    await interrupted.promise.catch(() => {})
  }
} catch (error) {
  process.exitCode ??= 1
  print(paint('red', `The demo stopped: ${error instanceof Error ? error.message : error}`))
} finally {
  const opened = await portal?.catch(() => undefined)
  await opened?.stop()
  await service?.remove()
}
if (process.exitCode === undefined) {
  if (!look) print('To use it as a customer would, in a browser: npm run demo -- --look')
  print(`Done in ${seconds()}; the service is stopped and its data deleted.`)
}
