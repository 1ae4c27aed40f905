import { installLines } from '@keyrail/contract/packages'
import type { Env } from '@keyrail/contract/shared'

export interface SampleValues {
  /** The address of the service. */
  readonly url: string
  readonly projectId: string
  readonly env: Env
  /** The secret key, only while it is shown; otherwise where it belongs. */
  readonly secret: string
}

/** @param orElse for TypeScript, which knows that a setting may be absent */
const start = ({ url, projectId }: SampleValues, orElse = '') => `const keyrail = createKeyrail({
  url: '${url}',
  project: '${projectId}',
  secretKey: process.env.KEYRAIL_SECRET_KEY${orElse},
})`

/** What a server needs in its environment; the rest is no secret, and stands in its code. */
export const environmentSamples = ({ secret }: SampleValues) =>
  [{ name: '.env', code: `KEYRAIL_SECRET_KEY=${secret}` }] as const

/** A first server in one framework, from an empty folder. */
export interface ServerSample {
  readonly name: string
  /** What to type in a terminal to make the folder. */
  readonly install: string
  /** The name of the file that holds the code. */
  readonly file: string
  readonly code: string
  /** What to type in the folder. */
  readonly start: string
}

const installed = ({ url }: SampleValues, packages: string) => `mkdir first-api && cd first-api
npm init --yes
${installLines(url, 'sdk', packages)}`

/** Node reads the settings; they are in no code. */
const started = 'node --env-file=.env server.mjs'

const port = 'const port = Number(process.env.PORT ?? 3000)'
const address = `\`Listening on http://localhost:\${port}\``

/** An API in each framework that verifies keys, enforces their limits, and reports requests. */
export const serverSamples = (values: SampleValues): readonly [ServerSample, ...ServerSample[]] => [
  {
    name: 'Express',
    install: installed(values, 'express'),
    file: 'server.mjs',
    code: `import { createKeyrail } from '@keyrail/sdk'
import { requireKey } from '@keyrail/sdk/express'
import express from 'express'

${start(values)}
await keyrail.ready()

const app = express()
app.use(requireKey(keyrail))
app.get('/payments', (request, response) => {
  response.json({ customer: request.apiKey.externalId })
})
${port}
app.listen(port, () => console.log(${address}))`,
    start: started,
  },
  {
    name: 'Fastify',
    install: installed(values, 'fastify'),
    file: 'server.mjs',
    code: `import { createKeyrail } from '@keyrail/sdk'
import { keyrailPlugin } from '@keyrail/sdk/fastify'
import fastify from 'fastify'

${start(values)}
await keyrail.ready()

const app = fastify()
await app.register(keyrailPlugin, { keyring: keyrail })
app.get('/payments', async request => ({ customer: request.apiKey.externalId }))
${port}
await app.listen({ port })
console.log(${address})`,
    start: started,
  },
  {
    name: 'Hono',
    install: installed(values, 'hono @hono/node-server'),
    file: 'server.mjs',
    code: `import { serve } from '@hono/node-server'
import { createKeyrail } from '@keyrail/sdk'
import { requireKey } from '@keyrail/sdk/hono'
import { Hono } from 'hono'

${start(values)}
await keyrail.ready()

const app = new Hono()
app.use(requireKey(keyrail))
app.get('/payments', context => context.json({ customer: context.get('apiKey').externalId }))
${port}
serve({ fetch: app.fetch, port }, () => console.log(${address}))`,
    start: started,
  },
  {
    name: 'Next',
    install: `npx create-next-app@latest first-api --yes
cd first-api
${installLines(values.url, 'sdk')}`,
    file: 'app/payments/route.ts',
    code: `import { createKeyrail } from '@keyrail/sdk'
import { withKey } from '@keyrail/sdk/next'

function protection() {
  ${start(values, " ?? ''").replaceAll('\n', '\n  ')}
  return keyrail
}

export const GET = withKey(protection, (_request, { apiKey }) =>
  Response.json({ customer: apiKey.externalId }),
)`,
    start: 'npm run dev',
  },
  {
    name: 'Nest',
    install: `npx @nestjs/cli new first-api --package-manager npm
cd first-api
${installLines(values.url, 'sdk')}`,
    file: 'src/main.ts',
    code: `import { createKeyrail, type Valid } from '@keyrail/sdk'
import { ApiKey, KeyrailModule } from '@keyrail/sdk/nest'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'

${start(values, " ?? ''")}

@Controller('payments')
class PaymentsController {
  @Get()
  list(@ApiKey() key: Valid) {
    return { customer: key.externalId }
  }
}

@Module({
  imports: [KeyrailModule.forRoot({ keyring: keyrail })],
  controllers: [PaymentsController],
})
class AppModule {}

async function main() {
  await keyrail.ready()
  const app = await NestFactory.create(AppModule)
  ${port}
  await app.listen(port)
  console.log(${address})
}

void main()`,
    start: `npm run build
node --env-file=.env dist/main.js`,
  },
]

/** Where each of these servers listens, and its route. */
export const firstAddress = 'http://localhost:3000/payments'
