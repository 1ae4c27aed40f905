import type { Env } from '@keyrail/contract/shared'

export interface SampleTarget {
  /** The address of the service. */
  readonly url: string
  readonly projectId: string
  readonly env: Env
}

/** The endpoint at which the page asks for a token. */
export const tokenPath = '/keyrail-token'

/**
 * Answers the page of one customer with a token. The secret key stays on the server. `customerOf` is the session check of
 * the company.
 */
export const serverSamples = (target: SampleTarget) =>
  [
    {
      name: 'Express',
      code: `${opening('express', target)}

const answer = embedHandler(embed, async request => {
${findCustomer}
})
app.post('${tokenPath}', answer)`,
    },
    {
      name: 'Fastify',
      code: `${opening('fastify', target)}

const answer = embedHandler(embed, async request => {
${findCustomer}
})
app.post('${tokenPath}', answer)`,
    },
    {
      name: 'Hono',
      code: `${opening('hono', target)}

const answer = embedHandler(embed, async ({ req: request }) => {
${findCustomer}
})
app.post('${tokenPath}', answer)`,
    },
    {
      name: 'Next',
      code: `// app${tokenPath}/route.ts
import { createEmbed } from '@keyrail/sdk'
import { embedHandler } from '@keyrail/sdk/next'

// With the first request: next build has no secret.
const embed = () => createEmbed({
${options(target)}
})

export const POST = embedHandler(embed, async request => {
${findCustomer}
})`,
    },
    {
      name: 'Nest',
      code: `import { Controller, Post, Req, Res } from '@nestjs/common'
import { createEmbed } from '@keyrail/sdk'
import { embedHandler, Public } from '@keyrail/sdk/nest'

const embed = createEmbed({
${options(target)}
})
const answer = embedHandler(embed, async request => {
${findCustomer}
})

@Controller('${tokenPath.slice(1)}')
export class TokenController {
  @Public()
  @Post()
  token(@Req() request: unknown, @Res() response: unknown) {
    return answer(request, response)
  }
}`,
    },
    {
      name: 'Fetch',
      code: `${opening('web', target)}

export const POST = embedHandler(embed, async request => {
${findCustomer}
})`,
    },
    {
      name: 'curl',
      code: `curl ${target.url}/v1/embed_tokens \\
  -H "Authorization: Bearer $KEYRAIL_EMBED_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"project_id":"${target.projectId}","external_id":"org_17","create_tenant":{},"env":"${target.env}","scopes":["keys:read","keys:write"]}'`,
    },
  ] as const

const opening = (entry: string, target: SampleTarget) => `import { createEmbed } from '@keyrail/sdk'
import { embedHandler } from '@keyrail/sdk/${entry}'

const embed = createEmbed({
${options(target)}
})`

const options = ({ url, projectId, env }: SampleTarget) => `  url: '${url}',
  project: '${projectId}',
  secretKey: process.env.KEYRAIL_EMBED_KEY, // ${env}`

const findCustomer = `  const customer = await customerOf(request) // your session check
  if (customer === null) return null
  return { externalId: customer.id, name: customer.name, scopes: ['keys:read', 'keys:write'] }`
